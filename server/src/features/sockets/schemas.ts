import { nullable, Timestamp } from '../../platform/http/schema.ts';
import { Type } from '../../platform/http/type.ts';

export const SocketToken = Type.Object(
  {
    socket_token: Type.String(),
    expires_in: Type.Literal(600, { description: 'Seconds' }),
    expires_at: Timestamp,
    url: Type.String({
      description: 'The WebSocket address, without a query',
      examples: ['wss://tips.example/v1/socket'],
    }),
  },
  { title: 'SocketToken' },
);

export const Event = Type.Object(
  {
    id: Type.String({ examples: ['evt_01kaxk2t5v7f9sd3n8q6w4y0zr'] }),
    type: Type.String({ examples: ['tip.created'] }),
    sequence: nullable(Type.Integer({ description: 'Counts up by one per creator, without gaps' })),
    test: Type.Boolean(),
    replay: Type.Boolean(),
    creator_id: Type.String(),
    created_at: Timestamp,
    data: Type.Object({}, { additionalProperties: true }),
  },
  { title: 'Event', description: 'Stored once: the same bytes on the socket, in a webhook and here' },
);

export const EventQuery = Type.Object({
  after: Type.Optional(Type.Integer({ minimum: 0, default: 0, description: 'Sequence after which to begin' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 50 })),
});

export const EventPage = Type.Object(
  {
    data: Type.Array(Event),
    next_after: Type.Integer({ description: 'Pass it as after for what follows' }),
    oldest: nullable(Type.Integer({ description: 'Sequence of the oldest event kept; null if there is none' })),
  },
  { title: 'EventPage' },
);

export const SocketQuery = Type.Object({
  token: Type.Optional(Type.String({ description: 'A socket token' })),
  after: Type.Optional(Type.Integer({ minimum: 0, description: 'Sequence after which to resume' })),
});

export const LastEventId = Type.Object({
  'last-event-id': Type.Optional(Type.Integer({ minimum: 0, description: 'Sequence after which to resume' })),
});
