/**
 * Node.js accepts one connection of a listening socket in an iteration of the event loop, in order of arrival, so behind a
 * crowd of connections everybody else waits for hundreds of iterations to be let in. Here several sockets listen at the
 * same address, among which Linux divides the connections (SO_REUSEPORT): as many are accepted in an iteration.
 */
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
): Promise<() => Promise<void>> {
  const others: Server[] = [];
  const closed: Promise<void>[] = [];
  if (process.platform === 'linux') await assertFree(host, port);
  // From here on no other socket accepts any more, like the application's own.
  app.addHook('preClose', async () => void closed.push(...others.map(close)));
  // connections.ts has set it. The property is in no type.
  const { pauseOnConnect = false } = app.server as { pauseOnConnect?: boolean };
  const options = { host, port, backlog, reusePort: process.platform === 'linux' };
  await app.listen(options);
  for (const address of app.addresses())
    for (let i = 1; i < sockets && options.reusePort && typeof address === 'object'; i += 1) {
      const other = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect }, (socket: Socket) => {
        // The connection belongs to the server of the application as if it had accepted it.
        app.server.emit('connection', Object.assign(socket, { server: app.server }));
      });
      others.push(other);
      await open(other, { ...options, host: address.address, port: address.port });
    }
  return async () => void (await Promise.all(closed));
}

/** With SO_REUSEPORT, listening succeeds beside another program that also sets it, such as a second server of this kind. */
async function assertFree(host: string, port: number): Promise<void> {
  const alone = createServer();
  await open(alone, { host, port });
  await close(alone);
}

async function open(server: Server, options: ListenOptions): Promise<void> {
  server.listen(options);
  await once(server, 'listening');
}

const close = (server: Server): Promise<void> => new Promise((resolve) => server.close(() => resolve()));
