import { nullable, Timestamp, taggedUnion } from '../../platform/http/schema.ts';
import { Type } from '../../platform/http/type.ts';
import { Event } from '../events/index.ts';
import { socketSeconds } from '../oauth/index.ts';
import { keepaliveSeconds } from './connection.ts';

export const SocketToken = Type.Object(
  {
    socket_token: Type.String(),
    expires_in: Type.Literal(socketSeconds, { description: 'Seconds' }),
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

/** The frames of the socket. The listener's socket declares its own in the same way. */
const Welcome = Type.Object(
  {
    type: Type.Literal('welcome'),
    session_id: Type.String({ description: 'Ours; name it when you report a problem' }),
    keepalive_seconds: Type.Literal(keepaliveSeconds, { description: 'A frame comes at least this often' }),
    sequence: Type.Integer({ description: 'The newest event now; 0 if there is none' }),
    oldest: nullable(Type.Integer({ description: 'The oldest event kept; null if there is none' })),
    resumed: nullable(
      Type.Boolean({
        description: 'True: all that you missed follows. False: some of it is gone. Null: you did not send `after`',
      }),
    ),
    replayed: Type.Integer({ description: 'How many events follow that you missed' }),
  },
  { title: 'WelcomeFrame', description: 'The first frame, once the token is accepted' },
);

const EventFrame = Type.Object(
  { type: Type.Literal('event'), event: Event },
  { title: 'EventFrame', description: 'Something happened' },
);

const Keepalive = Type.Object(
  { type: Type.Literal('keepalive') },
  { title: 'KeepaliveFrame', description: 'Nothing else was sent for a while; also the answer to a ping' },
);

const Reconnect = Type.Object(
  { type: Type.Literal('reconnect'), after_ms: Type.Integer({ description: 'How long to wait first' }) },
  {
    title: 'ReconnectFrame',
    description: 'The server is going away: open a new connection. This one lives on for 30 seconds',
  },
);

const Auth = Type.Object(
  {
    type: Type.Literal('auth'),
    token: Type.String({ description: 'A socket token' }),
    after: Type.Optional(Type.Integer({ minimum: 0, description: 'Sequence after which to resume' })),
  },
  { title: 'AuthFrame', description: 'The first frame, within 10 seconds, if the address has no token' },
);

const Ping = Type.Object(
  { type: Type.Literal('ping') },
  { title: 'PingFrame', description: 'Asks for a keepalive at once; only after the welcome' },
);

export const ServerFrame = taggedUnion(
  'ServerFrame',
  'A text frame from the server. Types may be added: pass over those you do not know',
  [Welcome, EventFrame, Keepalive, Reconnect],
);

export const ClientFrame = taggedUnion('ClientFrame', 'A text frame from your program', [Auth, Ping]);
