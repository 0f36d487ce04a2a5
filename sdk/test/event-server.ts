import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { type WebSocket, WebSocketServer } from 'ws';
import type { StreamEvent } from '../src/types.ts';

/** One connection as the server sees it. `live`: welcomed, and gets what is recorded. */
export type ServerLine = {
  socket: WebSocket;
  path: string;
  auth: { token: string; after?: number } | undefined;
  live: boolean;
  closed: boolean;
  send(frame: unknown): void;
  welcome(): void;
};

export function event(sequence: number, id = `evt_${sequence}`): StreamEvent {
  const data = { tip_id: `tip_${sequence}`, alert_id: null, shown_at: null, reason: null };
  const created_at = '2026-11-01T00:00:00.000Z';
  return { id, type: 'alert.shown', sequence, test: false, replay: false, creator_id: 'crt_1', created_at, data };
}

/** Speaks the socket protocol over a log in memory; a test decides whom it welcomes and what it breaks. */
export async function startEventServer(t: TestContext) {
  const wss = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(wss, 'listening');
  const address = wss.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const log: StreamEvent[] = [];
  const lines: ServerLine[] = [];
  const server = {
    url: `ws://127.0.0.1:${address.port}/v1/socket`,
    log,
    lines,
    oldest: 1,
    keepaliveSeconds: 25,
    /** What to do with an authenticated line; by default it is welcomed. */
    onAuth: (line: ServerLine): void => line.welcome(),
    last(): ServerLine {
      const line = lines.at(-1);
      if (!line) throw new Error('nobody has connected');
      return line;
    },
    record(count = 1): void {
      for (let n = 0; n < count; n += 1) {
        const next = event((server.log.at(-1)?.sequence ?? 0) + 1);
        server.log.push(next);
        for (const line of lines) if (line.live) line.send({ type: 'event', event: next });
      }
    },
  };

  wss.on('connection', (socket, request) => {
    const line: ServerLine = {
      socket,
      path: request.url ?? '',
      auth: undefined,
      live: false,
      closed: false,
      send: (frame) => socket.send(JSON.stringify(frame)),
      welcome() {
        const newest = server.log.at(-1)?.sequence ?? 0;
        const after = line.auth?.after;
        const resumed = after === undefined ? null : after >= server.oldest - 1 && after <= newest;
        const missed = resumed ? server.log.filter(({ sequence }) => sequence > (after ?? 0)) : [];
        const oldest = server.log.length > 0 ? server.oldest : null;
        const keepalive_seconds = server.keepaliveSeconds;
        const session_id = String(lines.length);
        const replayed = missed.length;
        line.send({ type: 'welcome', session_id, keepalive_seconds, sequence: newest, oldest, resumed, replayed });
        for (const one of missed) line.send({ type: 'event', event: one });
        line.live = true;
      },
    };
    lines.push(line);
    socket.on('message', (data) => {
      line.auth = JSON.parse(String(data));
      server.onAuth(line);
    });
    socket.on('close', () => {
      line.closed = true;
      line.live = false;
    });
  });
  t.after(() => {
    for (const client of wss.clients) client.terminate();
    wss.close();
  });
  return server;
}
