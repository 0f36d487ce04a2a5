import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { WebSocketServer } from 'ws';
import type { StreamEvent } from '../src/types.ts';

/** The server's end of a connection, real or in memory. */
export type ServerSocket = {
  send(data: string): void;
  close(code?: number): void;
  terminate(): void;
};

/** One connection as the server sees it. `live`: welcomed, and gets what is recorded. */
export type ServerConnection = {
  socket: ServerSocket;
  path: string;
  auth: { token: string; after?: number } | undefined;
  live: boolean;
  closed: boolean;
  send(frame: unknown): void;
  welcome(): void;
};

export type EventServer = ReturnType<typeof createEventServer>;

export function event(sequence: number, id = `evt_${sequence}`): StreamEvent {
  const data = { tip_id: `tip_${sequence}`, alert_id: null, shown_at: null, reason: null };
  const created_at = '2026-11-01T00:00:00.000Z';
  return { id, type: 'alert.shown', sequence, test: false, replay: false, creator_id: 'crt_1', created_at, data };
}

/** Speaks the socket protocol over a log in memory; a test decides whom it welcomes and what it breaks. */
export function createEventServer(url: string) {
  const log: StreamEvent[] = [];
  const connections: ServerConnection[] = [];
  const newest = () => log.at(-1)?.sequence ?? 0;
  const server = {
    url,
    log,
    connections,
    newest,
    oldest: 1,
    keepaliveSeconds: 25,
    /** What to do with an authenticated connection; by default it is welcomed. */
    onAuth: (connection: ServerConnection): void => connection.welcome(),
    last(): ServerConnection {
      const connection = connections.at(-1);
      if (!connection) throw new Error('nobody has connected');
      return connection;
    },
    record(count = 1): void {
      for (let n = 0; n < count; n += 1) {
        const next = event(newest() + 1);
        log.push(next);
        for (const connection of connections) if (connection.live) connection.send({ type: 'event', event: next });
      }
    },
    /** Takes a connection; gives what to call when a frame arrives and when the connection is closed. */
    accept(socket: ServerSocket, path: string) {
      const connection: ServerConnection = {
        socket,
        path,
        auth: undefined,
        live: false,
        closed: false,
        send: (frame) => socket.send(JSON.stringify(frame)),
        welcome() {
          const after = connection.auth?.after;
          const resumed = after === undefined ? null : after >= server.oldest - 1 && after <= newest();
          const missed = resumed ? log.filter(({ sequence }) => sequence > (after ?? 0)) : [];
          connection.send({
            type: 'welcome',
            session_id: String(connections.length),
            keepalive_seconds: server.keepaliveSeconds,
            sequence: newest(),
            oldest: log.length > 0 ? server.oldest : null,
            resumed,
            replayed: missed.length,
          });
          for (const one of missed) connection.send({ type: 'event', event: one });
          connection.live = true;
        },
      };
      connections.push(connection);
      return {
        message(data: string): void {
          connection.auth = JSON.parse(data);
          server.onAuth(connection);
        },
        closed(): void {
          connection.closed = true;
          connection.live = false;
        },
      };
    },
  };
  return server;
}

/** The server on a real port. */
export async function startEventServer(t: TestContext): Promise<EventServer> {
  const wss = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(wss, 'listening');
  const address = wss.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const server = createEventServer(`ws://127.0.0.1:${address.port}/v1/socket`);
  wss.on('connection', (socket, request) => {
    const connection = server.accept(socket, request.url ?? '');
    socket.on('message', (data) => connection.message(String(data)));
    socket.on('close', connection.closed);
  });
  t.after(() => {
    for (const client of wss.clients) client.terminate();
    wss.close();
  });
  return server;
}
