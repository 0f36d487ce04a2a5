import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import type { TestContext } from 'node:test';
import { io as connect4 } from 'socket.io-client';
import { until } from '../../sdk/test/until.ts';
import type { TestApp } from './build-app.ts';

const require = createRequire(import.meta.url);
/** It has no types of its own; what is used of it is the same. */
const connect2: typeof connect4 = require('socket.io-client-2');

export const generations = [2, 4] as const;
export const transports = [['polling'], ['websocket'], ['polling', 'websocket']] as const;

interface Donation {
  readonly id: number;
  readonly _id: string;
  readonly [field: string]: unknown;
}

interface Message {
  readonly type: string;
  readonly event_id: string;
  readonly for?: string;
  /** One donation; of a deletion its id. */
  readonly message: readonly [Donation] | { readonly id: number };
}

export interface Program {
  readonly messages: Message[];
  /** The sequences of the donations so far. */
  readonly ids: () => number[];
  /** What happened to the connection so far. */
  readonly log: string[];
  readonly isConnected: () => boolean;
  close(): void;
}

export interface ProgramOptions {
  readonly generation?: (typeof generations)[number];
  readonly transports?: readonly string[];
  readonly query?: string;
  readonly reconnection?: boolean;
}

/** An unchanged client of Socket.IO, as programs that speak Streamlabs' dialect have it. */
export function connectProgram(
  t: Pick<TestContext, 'after'>,
  address: string,
  key: string,
  { generation = 4, transports: names = ['websocket'], query = '', reconnection = false }: ProgramOptions = {},
): Program {
  const connect = generation === 2 ? connect2 : connect4;
  const socket = connect(`http://${address}/?token=${key}${query}`, {
    transports: [...names],
    forceNew: true,
    reconnection,
    reconnectionDelay: 100,
    reconnectionDelayMax: 500,
    // By itself it gives up a connection that takes 20 seconds.
    timeout: 180_000,
  });
  const messages: Message[] = [];
  const log: string[] = [];
  socket.on('event', (message: Message) => messages.push(message));
  socket.on('connect', () => log.push('connect'));
  socket.on('connect_error', () => log.push('connect_error'));
  socket.on('disconnect', (reason: string) => log.push(reason));
  t.after(() => socket.close());
  return {
    messages,
    ids: () => messages.flatMap(({ message }) => (Array.isArray(message) ? message.map(({ id }) => id) : [])),
    log,
    isConnected: () => socket.connected,
    close: () => void socket.close(),
  };
}

/** A program that is connected and live. */
export async function openProgram(
  t: Pick<TestContext, 'after'>,
  app: TestApp & { readonly address: string },
  key: string,
  options: ProgramOptions = {},
): Promise<Program> {
  const program = connectProgram(t, app.address, key, options);
  await until(() => `the program is connected; it says ${program.log}`, program.isConnected);
  return program;
}

export async function makeKey({ runtime }: TestApp, creatorId: string, minimumMinor = 0): Promise<string> {
  const key = await runtime.streamKeys.make(creatorId, { label: 'A bot', minimumMinor });
  if (key === undefined) throw new Error('too many keys');
  return key;
}

/** A client over polling that asks when the test says so. It has joined the namespace. */
export async function openByHand({ address }: { readonly address: string }, key: string) {
  const url = `http://${address}/socket.io/?EIO=4&transport=polling&token=${key}`;
  const opened = await (await fetch(url)).text();
  const sid: string = JSON.parse(opened.slice(1)).sid;
  const poll = async (method: string, body?: string): Promise<string> =>
    (await fetch(`${url}&sid=${sid}`, { method, ...(body !== undefined && { body }) })).text();
  await poll('POST', '40');
  assert.match(await poll('GET'), /^40/);
  return { sid, poll };
}
