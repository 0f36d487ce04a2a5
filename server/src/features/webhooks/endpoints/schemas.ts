import type { Static } from 'typebox';
import { nullable, Timestamp } from '../../../platform/http/schema.ts';
import { Type } from '../../../platform/http/type.ts';
import { webhookTypes } from '../../events/index.ts';
import { type DisabledReason, disabledReasons } from '../delivery/disable-repo.ts';
import { type DeliveryStatus, deliveryStatuses, type EndpointKind, endpointKinds } from '../delivery/repo.ts';
import { maxEndpoints } from './limits.ts';

const reasonWords = Object.entries(disabledReasons).map(([reason, words]) => `\`${reason}\`: ${words}`);

const id = Type.String({ examples: ['whk_01kaxk2t5v7f9sd3n8q6w4y0zr'] });
const url = Type.String({
  minLength: 1,
  maxLength: 2048,
  description: 'A public https: address',
  examples: ['https://app.example/hooks/namjai'],
});
const types = nullable(
  Type.Array(Type.Unsafe<(typeof webhookTypes)[number]>({ type: 'string', enum: webhookTypes }), {
    minItems: 1,
    maxItems: 20,
    description: 'Event types to send; null is all',
  }),
);
export const maxDescription = 200;
const description = nullable(Type.String({ maxLength: maxDescription, 'x-no-controls': true }));

export const Webhook = Type.Object(
  {
    id,
    kind: Type.Unsafe<EndpointKind>({
      type: 'string',
      enum: endpointKinds,
      description: '`listener`: the socket of `GET /v1/webhooks/listen`; all others are `http`',
    }),
    url: nullable(Type.String({ description: 'null for a listener' })),
    types: nullable(Type.Array(Type.String(), { description: 'Event types to send; null is all' })),
    description: nullable(Type.String()),
    enabled: Type.Boolean(),
    disabled_reason: nullable(
      Type.Unsafe<DisabledReason>({
        type: 'string',
        enum: [...Object.keys(disabledReasons), null],
        description: `${reasonWords.join('; ')}. null while it is enabled`,
      }),
    ),
    created_at: Timestamp,
  },
  { title: 'Webhook' },
);

export const NewWebhook = Type.Object(
  {
    ...Webhook.properties,
    secret: Type.String({
      description: 'Signs every delivery (Standard Webhooks). Shown this once',
      examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw1P3uGm6xVQA='],
    }),
  },
  { title: 'NewWebhook' },
);

export const WebhookRequest = Type.Object(
  { url, types: Type.Optional(types), description: Type.Optional(description) },
  { title: 'WebhookRequest' },
);

export const WebhookChange = Type.Object(
  {
    url: Type.Optional(nullable(url)),
    types: Type.Optional(types),
    description: Type.Optional(description),
    enabled: Type.Optional(
      nullable(Type.Boolean({ description: 'Switching it on starts the count of failing days anew' })),
    ),
  },
  { title: 'WebhookChange' },
);

export const WebhookPage = Type.Object(
  {
    data: Type.Array(Webhook),
    next_cursor: nullable(Type.String({ description: `Always null: an app has at most ${maxEndpoints}` })),
  },
  { title: 'WebhookPage' },
);

export const WebhookQuery = Type.Object({
  kind: Type.Optional(
    Type.Unsafe<'http' | 'all'>({
      type: 'string',
      enum: ['http', 'all'],
      default: 'http',
      description: '`all` lists the listener, too',
    }),
  ),
});

export const RotatedSecret = Type.Object(
  {
    secret: Type.String({ description: 'Signs from now on. Shown this once' }),
    previous_valid_until: Type.String({
      format: 'date-time',
      description: 'Until then deliveries carry a signature of the secret before, too',
    }),
  },
  { title: 'RotatedSecret' },
);

const status = Type.Unsafe<DeliveryStatus>({
  type: 'string',
  enum: deliveryStatuses,
  description:
    '`cancelled`: the creator’s grant ended, or the listener stayed closed; `skipped`: the endpoint was disabled',
});

export const Delivery = Type.Object(
  {
    id: Type.String({ examples: ['dlv_01kaxk2t5v7f9sd3n8q6w4y0zr'] }),
    event_id: Type.String({ examples: ['evt_01kaxk2t5v7f9sd3n8q6w4y0zr'] }),
    event_type: Type.String({ examples: ['tip.created'] }),
    status,
    attempts: Type.Array(
      Type.Object({
        at: Timestamp,
        status_code: nullable(Type.Integer()),
        duration_ms: Type.Integer(),
        error: nullable(Type.String({ description: 'Why it failed; null after a success' })),
        response_body: nullable(
          Type.String({ description: 'The first 1,024 bytes; of all but the newest two answers the first 100' }),
        ),
      }),
      { description: 'Oldest first; the last 20' },
    ),
    next_attempt_at: nullable(Timestamp),
    created_at: Timestamp,
  },
  { title: 'Delivery' },
);

export const DeliveryPage = Type.Object(
  {
    data: Type.Array(Delivery),
    next_cursor: nullable(
      Type.String({
        description: 'Pass it as cursor for the next page; null on the last. A page may have fewer than `limit`',
      }),
    ),
  },
  { title: 'DeliveryPage' },
);

export const DeliveryQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 50 })),
  cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 500, description: 'next_cursor of the page before' })),
  status: Type.Optional(status),
});

const bound = Type.String({
  minLength: 1,
  maxLength: 40,
  description: 'A day (YYYY-MM-DD) or an RFC 3339 instant, inclusive',
});

export const ReplayRequest = Type.Object({ from: bound, to: bound }, { title: 'ReplayRequest' });

export const Replay = Type.Object(
  {
    queued: Type.Integer({ description: 'How many deliveries are sent again' }),
    next_from: nullable(
      Type.String({
        format: 'date-time',
        description: 'Replay from here for the rest of the span; null if there is none',
      }),
    ),
  },
  { title: 'Replay' },
);

export const WebhookParams = Type.Object({ id: Type.String({ description: 'The webhook’s id' }) });
export const DeliveryParams = Type.Object({
  id: Type.String({ description: 'The webhook’s id' }),
  delivery: Type.String({ description: 'The delivery’s id' }),
});

export type Webhook = Static<typeof Webhook>;
export type Delivery = Static<typeof Delivery>;
export type Replay = Static<typeof Replay>;

export const readStatus = (text: string | undefined): DeliveryStatus | null =>
  deliveryStatuses.find((known) => known === text) ?? null;

/** Shown in the API document. */
export const webhookExample: Webhook = {
  id: 'whk_01kaxk2t5v7f9sd3n8q6w4y0zr',
  kind: 'http',
  url: 'https://app.example/hooks/namjai',
  types: ['tip.created'],
  description: null,
  enabled: true,
  disabled_reason: null,
  created_at: '2026-11-15T04:00:00.000Z',
};

export const deliveryExample: Delivery = {
  id: 'dlv_01kaxk2t5v7f9sd3n8q6w4y0zr',
  event_id: 'evt_01kaxk2t5v7f9sd3n8q6w4y0zr',
  event_type: 'tip.created',
  status: 'pending',
  attempts: [],
  next_attempt_at: '2026-11-15T04:00:00.000Z',
  created_at: '2026-11-15T04:00:00.000Z',
};
