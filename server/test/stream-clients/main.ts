/**
 * Clients of the Streamlabs socket that nobody here wrote, unchanged, all in one process: the test says which to open, and
 * is told what each of them heard. They reconnect as they do by themselves.
 */
import { createRequire } from 'node:module';

/** The event emitter that all of them are. */
interface Emitter {
  on(event: string, listener: (data: unknown) => void): unknown;
}
type Io = (url: string, options: object) => Emitter;
type StreamlabsClient = new (
  options: object,
) => Emitter & {
  connect(): void;
  client: Emitter;
};

export interface Open {
  /** The name in its events. */
  readonly name: string;
  readonly program: keyof typeof programs;
  /** Of the server; programs with an address of their own do not need it. */
  readonly url: string;
  readonly key: string;
}

export interface ClientEvent {
  readonly name: string;
  /** `donation` is what the two made for Streamlabs make of an event. */
  readonly what: 'connect' | 'disconnect' | 'connect_error' | 'event' | 'donation';
  readonly data: unknown;
}

const require = createRequire(import.meta.url);

const socketIo =
  (version: 2 | 4, transports?: readonly string[]) =>
  ({ url, key }: Open): Emitter => {
    const io: Io = require(`socket.io-client-${version}`);
    return io(`${url}/?token=${key}`, { forceNew: true, ...(transports ? { transports } : {}) });
  };

/** `event` is the event as it came: with it one sees deletions, of which both know nothing. */
const rawEvents = ['connect', 'disconnect', 'connect_error', 'event'];
const streamlabs =
  (load: () => StreamlabsClient) =>
  ({ key }: Open): Emitter => {
    const Client = load();
    const client = new Client({ token: key, emitTests: true, rawEvents });
    client.connect();
    return client;
  };

const programs = {
  'streamlabs-ws-client': streamlabs(() => require('streamlabs-ws-client').StreamlabsClient),
  'streamlabs-socket-client': streamlabs(() => require('streamlabs-socket-client')),
  'socket.io-client 2, polling first': socketIo(2),
  'socket.io-client 2, polling only': socketIo(2, ['polling']),
  'socket.io-client 2, websocket only': socketIo(2, ['websocket']),
  'socket.io-client 4, polling first': socketIo(4),
  'socket.io-client 4, polling only': socketIo(4, ['polling']),
  'socket.io-client 4, websocket only': socketIo(4, ['websocket']),
};

const clientEvents: readonly ClientEvent['what'][] = ['connect', 'disconnect', 'connect_error', 'event', 'donation'];

process.on('message', (open: Open) => {
  const client = programs[open.program](open);
  for (const what of clientEvents)
    client.on(what, (data) => {
      const plain = data instanceof Error ? data.message : data;
      process.send?.({ name: open.name, what, data: plain ?? null } satisfies ClientEvent);
    });
});
// The test has ended.
process.on('disconnect', () => process.exit());
