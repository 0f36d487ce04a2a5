import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

/**
 * A third-party app: a separate server with the callback. Like many real ones its callback
 * sends the browser on to another origin (127.0.0.1 and localhost are two).
 */
export async function startThirdPartyApp(t: Pick<TestContext, 'after'>) {
  const callbacks: URL[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', `http://${request.headers.host}`);
    if (url.pathname !== '/callback')
      return response.setHeader('content-type', 'text/html').end('<h1>Welcome back</h1>');
    callbacks.push(url);
    return response.writeHead(302, { location: `http://localhost:${port}/welcome` }).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { redirectUri: `http://127.0.0.1:${port}/callback`, home: `http://localhost:${port}/welcome`, callbacks };
}
