/**
 * Node.js accepts one connection of a listening socket in an iteration of the event loop, in order of arrival, so behind a
 * crowd of connections everybody else waits for hundreds of iterations to be let in. Here several sockets listen at the
 * same address, among which Linux divides the connections (SO_REUSEPORT): as many are accepted in an iteration.
 */
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { createServer, type ListenOptions, type Server, type Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

const sockets = 8;
/**
 * How many connections may wait to be accepted at each. With Node's 511 a crowd makes the system drop the others'
 * connections, whose next try comes a second later.
 */
const backlog = 4096;

/** Resolves with a function that waits, after the application is closed, until the last connections are. */
export async function listen(
  app: FastifyInstance,
  { host, port }: { host: string; port: number },
  addressesOf = allOfLocalhost,
): Promise<() => Promise<void>> {
  const others: Server[] = [];
  const closed: Promise<void>[] = [];
  const { first, further } = await findFree(await addressesOf(host), port);
  // From here on no other socket accepts any more, like the application's own.
  app.addHook('preClose', async () => void closed.push(...others.map(close)));
  // connections.ts has set it. The property is in no type.
  const { pauseOnConnect = false } = app.server as { pauseOnConnect?: boolean };
  const options = { host: first, port, backlog, reusePort: process.platform === 'linux' };
  await app.listen(options);
  // If `first` is a name, further sockets listen at the address that it had.
  const main = app.addresses().find((address) => typeof address === 'object');
  const count = options.reusePort ? sockets : 1;
  for (const [index, address] of [main?.address ?? first, ...further].entries())
    for (let i = index === 0 ? 1 : 0; i < count; i += 1) {
      const other = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect }, (socket: Socket) => {
        // The connection belongs to the server of the application as if it had accepted it.
        app.server.emit('connection', Object.assign(socket, { server: app.server }));
      });
      others.push(other);
      await open(other, { ...options, host: address });
    }
  return async () => void (await Promise.all(closed));
}

/**
 * For localhost Fastify would make a server for each further address, of which our limits and our closing know nothing.
 * So it gets addresses.
 */
async function allOfLocalhost(host: string): Promise<string[]> {
  if (host.toLowerCase() !== 'localhost') return [host];
  const found = await lookup(host, { all: true });
  return [...new Set(found.map(({ address }) => address))];
}

/**
 * The addresses without those that this machine lacks: localhost may name ::1 where IPv6 is off. Rejects if somebody
 * listens at one of them: with SO_REUSEPORT, listening succeeds beside another program that also sets it, such as a second
 * server of this kind.
 */
async function findFree(addresses: readonly string[], port: number): Promise<{ first: string; further: string[] }> {
  const free: string[] = [];
  let lacking: unknown;
  for (const host of addresses) {
    const alone = createServer();
    try {
      await open(alone, { host, port });
      await close(alone);
      free.push(host);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'EADDRNOTAVAIL' && code !== 'EAFNOSUPPORT') throw error;
      lacking = error;
    }
  }
  const [first, ...further] = free;
  if (first === undefined) throw lacking;
  return { first, further };
}

async function open(server: Server, options: ListenOptions): Promise<void> {
  server.listen(options);
  await once(server, 'listening');
}

const close = (server: Server): Promise<void> => new Promise((resolve) => server.close(() => resolve()));
