import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import { rounds } from '../../../sdk/test/rounds.ts';
import { until } from '../../../sdk/test/until.ts';
import type { Runtime } from '../../src/runtime.ts';
import { makePair } from '../factories.ts';
import { startServer } from '../server-process.ts';
import { sameIssuer, withStore } from '../store.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

const creators = rounds(5);
const connectionsEach = 20;
const keysEach = 10;

/** A Socket.IO client on a bare WebSocket (EIO 4), so that a thousand cost the test little. */
class Listener {
  readonly ids: string[] = [];
  readonly #socket: WebSocket;
  connected = false;

  constructor(url: string, key: string) {
    this.#socket = new WebSocket(`${url.replace('http', 'ws')}/socket.io/?EIO=4&transport=websocket&token=${key}`);
    this.#socket.on('message', (data) => this.#receive(String(data)));
    this.#socket.on('error', () => {});
    this.#socket.on('close', () => {
      this.connected = false;
    });
  }

  #receive(packet: string): void {
    if (packet.startsWith('0')) this.#socket.send('40');
    else if (packet.startsWith('2')) this.#socket.send('3');
    else if (packet.startsWith('40')) this.connected = true;
    else if (packet.startsWith('42')) this.ids.push(...donationIds(JSON.parse(packet.slice(2))));
  }

  close(): void {
    this.#socket.terminate();
  }
}

function donationIds([name, event]: [string, { type: string; message: { _id: string }[] }]): string[] {
  assert.deepEqual([name, event.type], ['event', 'donation']);
  return event.message.map(({ _id }) => _id);
}

test(`${creators * connectionsEach} connections by stream keys, ${connectionsEach} a creator: each hears its creator's tip, once`, async (t) => {
  const env = { ...sameIssuer, DATABASE_URL: `sqlite:${join(temporaryDirectory(t), 'namjai.db')}` };
  const people = await withStore(env, async (runtime) => {
    const made = [];
    for (let i = 0; i < creators; i += 1) made.push(await creatorWithKeys(runtime));
    return made;
  });
  const { url, child, kill } = await startServer({ env });
  t.after(() => kill());
  const memory = () => Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024;
  const all: Listener[] = [];
  t.after(() => {
    for (const listener of all) listener.close();
  });
  const open = async (keys: readonly string[]): Promise<Listener[]> => {
    const listeners = Array.from({ length: connectionsEach }, (_, i) => new Listener(url, keys[i % keysEach]!));
    all.push(...listeners);
    await until('they are connected', () => listeners.every(({ connected }) => connected));
    return listeners;
  };

  // The first ones bring in Socket.IO, which all later ones share.
  const [first, ...others] = people;
  await open(first!.keys);
  const before = memory();
  for (const { keys } of others) await open(keys);
  const after = memory();

  const tips = await Promise.all(
    people.map(async ({ pair: { headers } }) => {
      const body = '{"amount":5,"name":"SOMCHAI"}';
      const answer = await fetch(`${url}/v1/tips`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body,
      });
      assert.equal(answer.status, 201);
      return ((await answer.json()) as { id: string }).id;
    }),
  );
  const expected = tips.flatMap((id) => Array<string[]>(connectionsEach).fill([id]));
  await until('each has its tip', () => all.every(({ ids }) => ids.length > 0));
  assert.deepEqual(
    all.map(({ ids }) => ids),
    expected,
  );

  const kiB = ((after - before) * 1024) / ((creators - 1) * connectionsEach);
  t.diagnostic(`${all.length} connections: ${after.toFixed(0)} MiB in all, ${kiB.toFixed(1)} KiB for each`);
});

async function creatorWithKeys(runtime: Runtime) {
  const pair = await makePair(runtime);
  const keys: string[] = [];
  for (let i = 0; i < keysEach; i += 1)
    keys.push((await runtime.streamKeys.make(pair.creatorId, { label: `Program ${i}` }))!);
  return { pair, keys };
}
