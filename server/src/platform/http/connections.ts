/**
 * The connections of one address. Invariants:
 *
 * - The number of open connections of an address is bounded. One more is closed before anything of it is read.
 * - The server reads far fewer of them at a time: each has a read slot. Node.js reads every connection that has data or an
 *   end in the same iteration of the event loop, 0.04 ms each, so thousands at one moment would stall everybody.
 * - A connection without a read slot waits, for a bounded time. Nothing of it is read, not even its end, and the HTTP
 *   server does not know it.
 * - A slot becomes free when its connection closes, or becomes a stream: the number of streams is bounded for each
 *   credential that opens them.
 * - While others of its address wait, a connection that has been idle for a second, its last request answered, is closed.
 *   So idle connections keep nobody out, and a client that sends its next request right after an answer does not lose it.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { networkOf, unmapped } from '../addresses.ts';
import { createPacer } from '../pacer.ts';

export interface ConnectionLimitsOptions {
  /** Whether connections from this address are not counted: a proxy carries those of many people. */
  readonly isExempt: (address: string) => boolean;
  /** Since when the last request of a connection is answered, if it is and nothing of another one has come. */
  readonly idleSince: (socket: Socket) => number | undefined;
  readonly maxOfAddress?: number;
  readonly maxReadOfAddress?: number;
  readonly maxWaitMs?: number;
  readonly minIdleMs?: number;
}

/** Enough for an app with thousands of sockets; a stranger's idle connections cost about 10 KiB each. */
const defaultMaxOfAddress = 10_000;
const defaultMaxReadOfAddress = 256;
/** How many connections that have waited are admitted in an iteration of the event loop. */
const admittedPerIteration = 8;
/** More when the server closes, which has little time. */
const admittedPerIterationAtClose = 128;
const defaultMaxWaitMs = 30_000;
/** Longer than an answer and the next request are on their way. */
const defaultMinIdleMs = 1000;
/** While some wait, how often idle connections are looked for, and how many of an address are closed then. */
const closeIdleEveryMs = 100;
const maxClosedAtOnce = 32;

export interface ConnectionLimits {
  /** Whether others of its address wait for its slot: then it is closed after the answer. */
  isReadSlotWanted(socket: Socket): boolean;
  /** Reads of whoever comes from now on, and of all that wait, some in each iteration. For a server that closes. */
  finish(): Promise<void>;
}

interface Address {
  open: number;
  readonly read: Set<Socket>;
  readonly waiting: Set<Socket>;
  readonly admit: (socket: Socket) => void;
}

const addressOf = new WeakMap<Socket, Address>();

/** For a connection that is closed, or has become a stream of somebody who is known. */
export function releaseReadSlot(socket: Socket): void {
  const address = addressOf.get(socket);
  if (!address?.read.delete(socket)) return;
  const [next] = address.waiting;
  if (!next) return;
  address.waiting.delete(next);
  address.read.add(next);
  address.admit(next);
}

export function limitConnections(
  server: Server,
  {
    isExempt,
    idleSince,
    maxOfAddress = defaultMaxOfAddress,
    maxReadOfAddress = defaultMaxReadOfAddress,
    maxWaitMs = defaultMaxWaitMs,
    minIdleMs = defaultMinIdleMs,
  }: ConnectionLimitsOptions,
): ConnectionLimits {
  const addresses = new Map<string, Address>();
  /** The addresses of which connections wait, or waited a moment ago. */
  const crowded = new Set<Address>();
  const paced = createPacer(admittedPerIteration);
  /** Those of the HTTP server. They are called when a connection is admitted. */
  const listeners = server.listeners('connection');
  let maxRead = maxReadOfAddress;

  server.removeAllListeners('connection');
  // Nothing is read of a connection until it is resumed. The option is not among those of an HTTP server.
  Object.assign(server, { pauseOnConnect: true });
  server.on('connection', (socket: Socket) => {
    // Reset by the client before it was accepted. What it sent can still be read.
    if (socket.remoteAddress === undefined) return void socket.destroy();
    if (isExempt(unmapped(socket.remoteAddress))) admit(socket);
    else enter(socket, networkOf(socket.remoteAddress));
  });

  function enter(socket: Socket, network: string): void {
    const address = addresses.get(network) ?? { open: 0, read: new Set(), waiting: new Set(), admit: admitLater };
    if (address.open >= maxOfAddress) return void socket.destroy();
    addresses.set(network, address);
    addressOf.set(socket, address);
    address.open += 1;
    socket.once('close', () => {
      address.open -= 1;
      address.waiting.delete(socket);
      releaseReadSlot(socket);
      if (address.open === 0) addresses.delete(network);
    });
    if (address.read.size < maxRead) {
      address.read.add(socket);
      return void admit(socket);
    }
    address.waiting.add(socket);
    socket.setTimeout(maxWaitMs).on('timeout', destroy);
    // What has come of the others is read first.
    setImmediate(closeIdle, address, 1);
    if (crowded.size === 0) setTimeout(closeIdleOfAll, closeIdleEveryMs).unref();
    crowded.add(address);
  }

  function closeIdleOfAll(): void {
    for (const address of crowded)
      if (address.waiting.size > 0) closeIdle(address, maxClosedAtOnce);
      else crowded.delete(address);
    if (crowded.size > 0) setTimeout(closeIdleOfAll, closeIdleEveryMs).unref();
  }

  function closeIdle({ read, waiting }: Address, max: number): void {
    const before = performance.now() - minIdleMs;
    let left = Math.min(max, waiting.size);
    for (const socket of read) {
      if (left === 0) return;
      const since = idleSince(socket);
      if (since === undefined || since > before) continue;
      left -= 1;
      releaseReadSlot(socket);
      socket.destroySoon();
    }
  }

  /** Thousands of slots may be released together. */
  const admitLater = (socket: Socket): void => paced(() => admit(socket));

  function admit(socket: Socket): void {
    if (socket.destroyed) return;
    socket.setTimeout(0).off('timeout', destroy);
    for (const listener of listeners) Reflect.apply(listener, server, [socket]);
    socket.resume();
  }

  return {
    isReadSlotWanted(socket) {
      const address = addressOf.get(socket);
      return address !== undefined && address.waiting.size > 0;
    },
    async finish() {
      maxRead = Number.POSITIVE_INFINITY;
      let count = 0;
      for (const { waiting } of addresses.values())
        for (const socket of waiting) {
          waiting.delete(socket);
          admit(socket);
          count += 1;
          if (count % admittedPerIterationAtClose === 0) await nextIteration();
        }
    },
  };
}

function destroy(this: Socket): void {
  this.destroy();
}
