/** Faults of a running server that on-call is alerted to. Each function returns what ends the fault. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from 'undici';
import type { Runtime } from '../src/runtime.ts';
import type { Pair } from './factories.ts';
import { recordTips } from './many-tips.ts';

type End = () => Promise<void>;

/** Keeps `atOnce` calls running until the returned function is called. A call that fails is followed by the next one. */
export function keepDoing(atOnce: number, call: (n: number) => Promise<unknown>): End {
  let [going, count] = [true, 0];
  const all = Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (going) {
        count += 1;
        await call(count).catch(() => sleep(20));
      }
    }),
  );
  return async () => {
    going = false;
    await all;
  };
}

/** Calls that go on although the server hangs, is stopped or starts again. */
function createLoad(
  url: string,
  atOnce: number,
  request: (n: number) => { path: string; body?: string; headers: Record<string, string> },
): End {
  const agent = new Agent({ connections: atOnce, headersTimeout: 20_000, bodyTimeout: 20_000 });
  const stop = keepDoing(atOnce, async (n) => {
    const { path, body, headers } = request(n);
    const method = body === undefined ? 'GET' : 'POST';
    const answer = await agent.request({ origin: url, path, method, headers, body: body ?? null });
    await answer.body.dump();
  });
  return async () => {
    await stop();
    await agent.destroy();
  };
}

const pairOf = (pairs: readonly Pair[], n: number): Pair => pairs[n % pairs.length]!;

export const read = (url: string, path: string, pairs: readonly Pair[], atOnce: number): End =>
  createLoad(url, atOnce, (n) => ({ path, headers: pairOf(pairs, n).headers }));

export const keepPostingTips = (url: string, pairs: readonly Pair[], atOnce: number): End =>
  createLoad(url, atOnce, (n) => ({
    path: '/v1/tips',
    headers: { ...pairOf(pairs, n).headers, 'content-type': 'application/json' },
    body: '{"amount":1,"name":"SOMCHAI"}',
  }));

/** Wrong passwords, each for another account and from another address. */
export async function guessPasswords(url: string, authUrl: string, atOnce: number): Promise<End> {
  const form = await fetch(`${url}/login`, { headers: { accept: 'text/html' } });
  const csrf = /name="csrf" value="([^"]+)"/.exec(await form.text())?.[1] ?? '';
  const cookie = form.headers
    .getSetCookie()
    .map((each) => each.split(';')[0])
    .join('; ');
  return createLoad(url, atOnce, (n) => ({
    path: '/login',
    headers: {
      cookie,
      origin: authUrl,
      accept: 'text/html',
      'content-type': 'application/x-www-form-urlencoded',
      'x-forwarded-for': `198.51.${Math.floor(n / 250) % 250}.${1 + (n % 250)}`,
    },
    body: new URLSearchParams({ csrf, username: `nobody_${n}`, password: `wrong password ${n}` }).toString(),
  }));
}

/** Another program locks the database for so long, lets go for a moment, and locks it again. */
export function lockAgainAndAgain(file: string, lockedMs: number): End {
  const db = new DatabaseSync(file, { timeout: 10_000 });
  const stop = keepDoing(1, async () => {
    db.exec('BEGIN IMMEDIATE');
    try {
      await sleep(lockedMs);
    } finally {
      db.exec('ROLLBACK');
    }
    await sleep(20);
  });
  return async () => {
    await stop();
    db.close();
  };
}

/** A read that does not end keeps the log from being emptied, while somebody writes so many bytes. */
export async function growLog(file: string, bytes: number): Promise<End> {
  const [reader, writer] = [new DatabaseSync(file, { readOnly: true }), new DatabaseSync(file, { timeout: 30_000 })];
  const once = 16 * 1024 * 1024;
  reader.exec('BEGIN');
  reader.prepare('SELECT COUNT(*) FROM meta').get();
  writer.exec('PRAGMA synchronous = OFF');
  const write = writer.prepare(
    'INSERT INTO meta (key, value) VALUES (?, hex(randomblob(?))) ON CONFLICT (key) DO UPDATE SET value = excluded.value',
  );
  for (let written = 0; written < bytes; written += once) {
    write.run('a large value', once / 2);
    await sleep(1);
  }
  return async () => {
    reader.close();
    writer.exec("DELETE FROM meta WHERE key = 'a large value'");
    writer.close();
  };
}

interface Pausable {
  pause(): void;
  resume(): void;
}

/** The process gets no processor for so long, again and again. */
export function stutter(program: Pausable, pausedMs: number, runningMs: number): End {
  return keepDoing(1, async () => {
    program.pause();
    await sleep(pausedMs);
    program.resume();
    await sleep(runningMs);
  });
}

/** Connections on which nothing is said; one that the server closes is opened again. */
export function openConnections(port: number, count: number): End {
  const open = new Set<Socket>();
  let going = true;
  function add(): void {
    const socket = connect(port, '127.0.0.1');
    open.add(socket);
    socket
      .on('error', () => {})
      .on('close', () => {
        open.delete(socket);
        if (going) setTimeout(add, 50);
      });
  }
  for (let i = 0; i < count; i += 1) add();
  return async () => {
    going = false;
    for (const socket of open) socket.destroy();
  };
}

/** A receiver that refuses the first requests, which are to be sent again, and then takes so long for each answer. */
export async function startSlowReceiver(refused: number, answersAfterMs: number): Promise<{ url: string; end: End }> {
  const sockets = new Set<Socket>();
  let count = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    // The body comes with the head or right after it, and is not read.
    const refuses = count < refused;
    count += 1;
    const answer = `HTTP/1.1 ${refuses ? '503 Unavailable' : '200 OK'}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`;
    socket.once('data', () => setTimeout(() => socket.end(answer), refuses ? 0 : answersAfterMs)).resume();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async end() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** A creator with one tip for each, and an endpoint of an app that gets them. */
export async function sendWebhooks(runtime: Runtime, pair: Pair, url: string, count: number): Promise<void> {
  await runtime.webhooks.add(pair.clientId, { url, types: null, description: null });
  await recordTips({ runtime }, pair.creatorId, count);
}
