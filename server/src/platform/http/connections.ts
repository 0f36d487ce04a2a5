/**
 * The connections of one address. Invariants:
 *
 * - An address has a bounded number of them open. One more is closed before anything is read of it.
 * - Of far fewer the server reads at a time. Node.js reads from every connection that has something to say, or that ends,
 *   in the same iteration of the event loop, 0.04 ms each: thousands that do so at one moment would stall everybody.
 * - The others wait outside, for a bounded time: nothing of them is read, not even their end, and the HTTP server does not
 *   know them. One is let in when a connection of the same address is closed, or has become a stream, which does not count:
 *   how many of those there are is bounded by who opens them.
 * - One that waits has the place of a connection that has been answered and has asked for nothing for a second, if there is
 *   such a one or as soon as there is: that is closed, as it would be after its time. So idle connections keep nobody out,
 *   and a client that sends its next request when it has an answer does not lose it.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { networkOf } from '../addresses.ts';
import { createTurns } from '../turns.ts';

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
/** How many that have waited are let in in an iteration of the event loop. */
const letInAtOnce = 8;
/** More when the server closes, which has little time. */
const letInAtOnceByEnd = 128;
const defaultMaxWaitMs = 30_000;
/** Longer than an answer and the next request are on their way. */
const defaultMinIdleMs = 1000;
/** While some wait, how often idle connections are looked for, and how many of an address are closed then. */
const roomEveryMs = 100;
const maxClosedAtOnce = 32;

export interface ConnectionLimits {
  /** Whether others of its address wait for its place: it is to be closed after the answer. */
  isPlaceWanted(socket: Socket): boolean;
  /** Reads of whoever comes from now on, and of all that wait, some in each iteration. For a server that closes. */
  finish(): Promise<void>;
}

interface Address {
  open: number;
  readonly read: Set<Socket>;
  readonly waiting: Set<Socket>;
  readonly letIn: (socket: Socket) => void;
}

const addressOf = new WeakMap<Socket, Address>();

/** For a connection that has become a stream of somebody who is known. */
export function leavePlace(socket: Socket): void {
  const address = addressOf.get(socket);
  if (!address?.read.delete(socket)) return;
  const [next] = address.waiting;
  if (!next) return;
  address.waiting.delete(next);
  address.read.add(next);
  address.letIn(next);
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
  /** Those of which some wait, or waited a moment ago. */
  const crowded = new Set<Address>();
  const inTurn = createTurns(letInAtOnce);
  /** Those of the HTTP server, which hear of a connection when it is let in. */
  const listeners = server.listeners('connection');
  let maxRead = maxReadOfAddress;

  server.removeAllListeners('connection');
  // Nothing is read of a connection until it is resumed. The option is not among those of an HTTP server.
  Object.assign(server, { pauseOnConnect: true });
  server.on('connection', (socket: Socket) => {
    // Reset by the client before it was accepted. What it sent can still be read.
    if (socket.remoteAddress === undefined) return void socket.destroy();
    // A dual-stack socket reports IPv4 addresses as mapped IPv6 addresses.
    if (isExempt(socket.remoteAddress.replace(/^::ffff:/, ''))) letIn(socket);
    else enter(socket, networkOf(socket.remoteAddress));
  });

  function enter(socket: Socket, network: string): void {
    const address = addresses.get(network) ?? { open: 0, read: new Set(), waiting: new Set(), letIn: letInLater };
    if (address.open >= maxOfAddress) return void socket.destroy();
    addresses.set(network, address);
    addressOf.set(socket, address);
    address.open += 1;
    socket.once('close', () => {
      address.open -= 1;
      address.waiting.delete(socket);
      leavePlace(socket);
      if (address.open === 0) addresses.delete(network);
    });
    if (address.read.size < maxRead) {
      address.read.add(socket);
      return void letIn(socket);
    }
    address.waiting.add(socket);
    socket.setTimeout(maxWaitMs).on('timeout', destroy);
    // What has come of the others is read first.
    setImmediate(makeRoom, address, 1);
    if (crowded.size === 0) setTimeout(makeRoomForAll, roomEveryMs).unref();
    crowded.add(address);
  }

  function makeRoomForAll(): void {
    for (const address of crowded)
      if (address.waiting.size > 0) makeRoom(address, maxClosedAtOnce);
      else crowded.delete(address);
    if (crowded.size > 0) setTimeout(makeRoomForAll, roomEveryMs).unref();
  }

  function makeRoom({ read, waiting }: Address, max: number): void {
    const before = performance.now() - minIdleMs;
    let left = Math.min(max, waiting.size);
    for (const socket of read) {
      if (left === 0) return;
      const since = idleSince(socket);
      if (since === undefined || since > before) continue;
      left -= 1;
      leavePlace(socket);
      socket.destroySoon();
    }
  }

  /** Thousands may leave their places together. */
  const letInLater = (socket: Socket): void => inTurn(() => letIn(socket));

  function letIn(socket: Socket): void {
    if (socket.destroyed) return;
    socket.setTimeout(0).off('timeout', destroy);
    for (const listener of listeners) Reflect.apply(listener, server, [socket]);
    socket.resume();
  }

  return {
    isPlaceWanted(socket) {
      const address = addressOf.get(socket);
      return address !== undefined && address.waiting.size > 0;
    },
    async finish() {
      maxRead = Number.POSITIVE_INFINITY;
      let count = 0;
      for (const { waiting } of addresses.values())
        for (const socket of waiting) {
          waiting.delete(socket);
          letIn(socket);
          count += 1;
          if (count % letInAtOnceByEnd === 0) await nextIteration();
        }
    },
  };
}

function destroy(this: Socket): void {
  this.destroy();
}
