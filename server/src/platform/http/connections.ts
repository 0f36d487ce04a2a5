/** An address has a bounded number of connections open. One more is closed before anything is read from it. */
import type { Server } from 'node:http';
import { networkOf } from '../addresses.ts';

export interface ConnectionLimitsOptions {
  /** Whether connections from this address are not counted: a proxy carries those of many people. */
  readonly isExempt: (address: string) => boolean;
  readonly maxOfAddress?: number;
}

/** Enough for an app with thousands of sockets; a stranger's idle connections cost about 10 KiB each. */
const defaultMaxOfAddress = 10_000;

export function limitConnections(
  server: Server,
  { isExempt, maxOfAddress = defaultMaxOfAddress }: ConnectionLimitsOptions,
): void {
  const open = new Map<string, number>();

  server.prependListener('connection', (socket) => {
    // Reset by the client before it was accepted. What it sent can still be read.
    if (socket.remoteAddress === undefined) return void socket.destroy();
    const address = socket.remoteAddress;
    // A dual-stack socket reports IPv4 addresses as mapped IPv6 addresses.
    if (isExempt(address.replace(/^::ffff:/, ''))) return;
    const network = networkOf(address);
    const count = (open.get(network) ?? 0) + 1;
    if (count > maxOfAddress) return void socket.destroy();
    open.set(network, count);
    socket.once('close', () => {
      const left = (open.get(network) ?? 1) - 1;
      if (left > 0) open.set(network, left);
      else open.delete(network);
    });
  });
}
