import { connectEvents } from '@namjai/sdk/events';
import { WebSocket } from 'ws';
import type { Pair } from './factories.ts';

/** An app that listens with the SDK, and whose connection and process can be disturbed. */
export interface Subscriber {
  readonly sequences: number[];
  readonly ids: Set<string>;
  readonly resets: number;
  /** Connections that were welcomed. */
  readonly connections: number;
  live(): boolean;
  /** Ends the connection without a close frame. */
  cut(): void;
  /** Nothing is read for so long. */
  stall(ms: number): void;
  /** The app dies and starts again where it had stopped. */
  restart(): void;
  close(): void;
}

export function subscribe(origin: () => string, pair: Pair, knownToken?: string): Subscriber {
  let socket: WebSocket | undefined;
  const state = { sequences: [] as number[], ids: new Set<string>(), resets: 0, connections: 0 };
  class RecordedSocket extends WebSocket {
    constructor() {
      super(`${origin().replace(/^http/, 'ws')}/v1/socket`);
      socket = this;
    }
  }
  async function token(): Promise<string> {
    if (knownToken !== undefined) return knownToken;
    const answer = await fetch(`${origin()}/v1/socket/token`, { headers: pair.headers });
    if (!answer.ok) throw new Error(`no socket token: ${answer.status}`);
    const { socket_token } = (await answer.json()) as { socket_token: string };
    return socket_token;
  }
  const open = () =>
    connectEvents({
      url: 'the socket knows',
      token,
      after: state.sequences.at(-1) ?? 0,
      WebSocket: RecordedSocket,
      onEvent({ sequence, id }) {
        state.sequences.push(sequence);
        state.ids.add(id);
      },
      // Once for each welcome. An attempt that a busy machine does not serve in time is no connection, although its
      // welcome may still come after the SDK has given it up.
      onStatus(status) {
        if (status === 'live') state.connections += 1;
      },
      onReset: () => {
        state.resets += 1;
      },
    });
  let connection = open();
  return Object.assign(state, {
    live: () => connection.status === 'live',
    cut: () => socket?.terminate(),
    stall(ms: number) {
      const stalled = socket;
      stalled?.pause();
      setTimeout(() => stalled?.resume(), ms).unref();
    },
    restart() {
      connection.close();
      connection = open();
    },
    close: () => connection.close(),
  });
}
