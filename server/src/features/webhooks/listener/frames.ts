import { nullable, taggedUnion } from '../../../platform/http/schema.ts';
import { Type } from '../../../platform/http/type.ts';
import { answerTimeoutMs } from '../../../platform/safe-fetch.ts';

/** The frames of the listener's socket, for the API document. */
const Ready = Type.Object(
  {
    type: Type.Literal('ready'),
    endpoint_id: Type.String({ description: 'The app’s listener, in its delivery log' }),
    secret: Type.String({ description: 'Signs every delivery; stays the same until it is rotated' }),
  },
  { title: 'ReadyFrame', description: 'The first frame: deliveries follow' },
);

const DeliveryFrame = Type.Object(
  {
    type: Type.Literal('delivery'),
    id: Type.String({ description: 'Of the delivery; send it back with the result' }),
    headers: Type.Unsafe<Record<string, string>>({
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'Exactly what a webhook with an address would get',
    }),
    body: Type.String({ description: 'The bytes that are signed' }),
  },
  { title: 'DeliveryFrame', description: `An event: answer it within ${answerTimeoutMs / 1000} seconds` },
);

const Result = Type.Object(
  {
    type: Type.Literal('result'),
    id: Type.String({ description: 'Of the delivery' }),
    status_code: Type.Optional(
      nullable(Type.Integer({ description: 'Any 2xx is a success; null if there was no answer' })),
    ),
    duration_ms: Type.Optional(Type.Integer()),
    error: Type.Optional(nullable(Type.String({ description: 'Why there was no answer' }))),
    response_body: Type.Optional(nullable(Type.String({ description: 'For the log; cut to what it keeps' }))),
  },
  { title: 'ResultFrame', description: 'What your program answered to a delivery' },
);

export const ListenerFrame = taggedUnion('ListenerFrame', 'A text frame from the server to a listener', [
  Ready,
  DeliveryFrame,
]);

export const ListenerResult = taggedUnion('ListenerResult', 'A text frame from a listener', [Result]);
