import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { basic } from '../factories.ts';
import type { HostileWorld } from './world.ts';

const chunk = Buffer.alloc(65_536, 'x');

function gigabyte(response: ServerResponse): void {
  let left = 1_000_000_000;
  const write = (): void => {
    while (left > 0 && !response.destroyed) {
      left -= chunk.length;
      if (!response.write(chunk)) return void response.once('drain', write);
    }
    response.end();
  };
  response.writeHead(200);
  write();
}

/** What the developer's webhook endpoints do with a delivery. */
const receivers: Record<string, (response: ServerResponse) => void> = {
  hang: () => {},
  gigabyte,
  drip: (response) => {
    response.writeHead(200);
    const drip = setInterval(() => response.write('x'), 500);
    response.on('close', () => clearInterval(drip));
  },
  redirect: (response) => response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
  fail: (response) => response.writeHead(500, { 'retry-after': '1' }).end('no'),
  quick: (response) => response.writeHead(204).end(),
};

/** They stay for the whole run; each delivery to them is one that the server sends beside those of honest apps. */
export async function startHostileReceivers(url: string, world: HostileWorld): Promise<() => void> {
  const server = createServer((request, response) => {
    response.on('error', () => {});
    request.resume().on('end', () => receivers[request.url?.slice(1) ?? '']?.(response));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  for (const name of Object.keys(receivers)) {
    const headers = { ...basic(world.pairs[0]), 'content-type': 'application/json' };
    const body = JSON.stringify({ url: `http://127.0.0.1:${port}/${name}` });
    const made = await fetch(`${url}/v1/webhooks`, { method: 'POST', headers, body });
    if (made.status !== 201) throw new Error(`no endpoint ${name}: ${made.status} ${await made.text()}`);
  }
  return () => {
    server.closeAllConnections();
    server.close();
  };
}
