import { nullable, Timestamp } from '../../platform/http/schema.ts';
import { Type } from '../../platform/http/type.ts';
import { Event } from '../events/index.ts';

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
