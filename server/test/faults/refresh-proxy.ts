import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** What a test does while a refresh passes. */
export type RefreshHooks = {
  /** The request is here, and has not been passed on. */
  readonly request?: () => void;
  /** The answer is here. `false`: it is cut off. */
  readonly answer?: () => boolean;
  /** The answer has been passed on. */
  readonly passed?: () => void;
};

/** A TCP proxy that sees refreshes, and answers of the kind that must not come. */
export async function startRefreshProxy(port: number, onRefresh: () => RefreshHooks) {
  const sockets = new Set<Socket>();
  const seen = { refreshes: 0, invalidGrants: 0 };

  const server = createServer((client) => {
    const upstream = connect({ port, host: 'localhost' });
    let hooks: RefreshHooks | undefined;
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => {});
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
    client.on('data', (chunk) => {
      if (chunk.includes('grant_type=refresh_token')) {
        seen.refreshes += 1;
        hooks = onRefresh();
        hooks.request?.();
      }
      upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      if (chunk.includes('invalid_grant')) seen.invalidGrants += 1;
      const current = hooks;
      hooks = undefined;
      if (current?.answer?.() === false) return void client.destroy();
      client.write(chunk, () => current?.passed?.());
    });
  });
  server.listen(0, 'localhost');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('A listening server has a port');
  return {
    url: `http://localhost:${address.port}`,
    seen,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
