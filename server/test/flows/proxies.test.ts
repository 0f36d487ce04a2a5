import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, type TestContext, test } from 'node:test';
import { type ProxyName, type ProxyProcess, proxyNames, skipWithoutProxies, startProxy } from '../proxies.ts';

interface Arrival {
  readonly node: number;
  readonly headers: IncomingMessage['headers'];
  readonly url: string;
  readonly body: string;
}

type Answer = (arrival: Arrival, response: ServerResponse) => void;

/** Three nodes that note what they get, and answer as the test says. */
async function startStandIns(t: TestContext) {
  const arrivals: Arrival[] = [];
  let answer: Answer = (_arrival, response) => response.end();
  const ports: number[] = [];
  for (const node of [0, 1, 2]) {
    const server = createServer({ maxHeaderSize: 96 * 1024 }, async (request, response) => {
      if (request.url === '/readyz') return void response.end();
      // A request that is broken off on the way has not arrived.
      const body = await text(request).catch(() => undefined);
      if (body === undefined) return;
      const arrival = { node, headers: request.headers, url: request.url ?? '', body };
      arrivals.push(arrival);
      answer(arrival, response);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => {
      server.closeAllConnections();
      server.close();
    });
    ports.push((server.address() as AddressInfo).port);
  }
  return {
    ports,
    /** What arrives from now on. */
    expect(next: Answer): Arrival[] {
      answer = next;
      arrivals.length = 0;
      return arrivals;
    },
  };
}

async function send(
  { agent, url }: ProxyProcess,
  method: 'GET' | 'POST',
  path: string,
  headers = {},
  body?: string | Buffer,
) {
  const answer = await agent.request({ origin: url, path, method, headers, ...(body !== undefined && { body }) });
  return { status: answer.statusCode, text: await answer.body.text() };
}

/** The first arrival finds a node that dies. */
const dieOnce = (): Answer => {
  let died = false;
  return (_arrival, response) => {
    if (died) return void response.end('again');
    died = true;
    response.socket?.destroy();
  };
};

/** A reserved one, which no other test is given. */
const unusedPort = 1;

/** A proxy leaves a node that has failed for a while, so what fails has a proxy of its own. */
async function start(t: TestContext, name: ProxyName) {
  const nodes = await startStandIns(t);
  return { nodes, proxy: await startProxy(t, name, nodes.ports) };
}

const skipRepeatedPosts = (name: ProxyName) => name === 'caddy' && 'Caddy keeps no bodies';

for (const name of proxyNames)
  describe(`ops/${name}`, { skip: skipWithoutProxies }, () => {
    test('a GET whose node dies is sent to another one', async (t) => {
      const { nodes, proxy } = await start(t, name);
      const arrivals = nodes.expect(dieOnce());
      assert.deepEqual(await send(proxy, 'GET', '/v1/me'), { status: 200, text: 'again' });
      assert.equal(arrivals.length, 2);
    });

    for (const path of ['/v1/tips', '/v1/oauth/token'])
      test(`so is a POST of ${path} with a key, whole`, { skip: skipRepeatedPosts(name) }, async (t) => {
        const { nodes, proxy } = await start(t, name);
        const arrivals = nodes.expect(dieOnce());
        const body = JSON.stringify({ amount: 5, name: 'ONCE' });
        const headers = { 'idempotency-key': 'once', 'content-type': 'application/json' };
        assert.deepEqual(await send(proxy, 'POST', path, headers, body), { status: 200, text: 'again' });
        const seen = arrivals.map((arrival) => [arrival.body, arrival.headers['idempotency-key']]);
        assert.deepEqual(seen, [
          [body, 'once'],
          [body, 'once'],
        ]);
      });

    for (const [path, headers] of [
      ['/v1/tips', {}],
      ['/v1/alerts', { 'idempotency-key': 'obeyed nowhere else' }],
    ] as const)
      test(`a POST of ${path} that would count twice is sent once`, async (t) => {
        const { nodes, proxy } = await start(t, name);
        const arrivals = nodes.expect(dieOnce());
        // HAProxy closes the connection instead if it had used the node's before.
        const answer = await send(proxy, 'POST', path, headers, '{}').catch(() => undefined);
        assert.ok(answer === undefined || (answer.status >= 502 && answer.status <= 504), `${answer?.status}`);
        assert.equal(arrivals.length, 1);
      });

    test('any POST is sent to another node if one takes no connections, whole', async (t) => {
      const nodes = await startStandIns(t);
      const proxy = await startProxy(t, name, [unusedPort, ...nodes.ports.slice(1)]);
      const arrivals = nodes.expect((_arrival, response) => response.end());
      const bodies = Array.from({ length: 6 }, (_, i) => `body ${i} ${'.'.repeat(20_000)}`);
      for (const body of bodies) assert.equal((await send(proxy, 'POST', '/v1/alerts', {}, body)).status, 200);
      const seen = arrivals.map(({ body }) => body);
      assert.deepEqual(seen, bodies);
    });

    test('no address is in its log, not even of what failed', async (t) => {
      const { nodes, proxy } = await start(t, name);
      nodes.expect((_arrival, response) => void response.socket?.destroy());
      for (const path of ['/socket.io/?token=njk_canary', '/overlay/njo_canary', '/v1/socket?token=canary'])
        await send(proxy, 'POST', path, { authorization: 'Bearer canary' }, '{}').catch(() => undefined);
      assert.doesNotMatch(proxy.log(), /canary/);
    });

    test('passes on what it should', async (t) => {
      const { nodes, proxy } = await start(t, name);
      await t.test('what a client says about its address is not passed on', async () => {
        const arrivals = nodes.expect((_arrival, response) => response.end());
        await send(proxy, 'GET', '/v1/me', {
          'x-forwarded-for': '192.0.2.66',
          'x-forwarded-proto': 'http',
          'x-forwarded-host': 'evil.example',
          forwarded: 'for=192.0.2.66;host=evil.example',
        });
        const headers = arrivals[0]?.headers ?? {};
        assert.equal(headers['x-forwarded-for'], '127.0.0.1');
        assert.equal(headers['x-forwarded-proto'], 'https');
        assert.doesNotMatch(JSON.stringify(headers), /192\.0\.2\.66|evil/);
        assert.match(headers.host ?? '', /^localhost/);
      });

      await t.test('the longest address and the longest redirect fit', async () => {
        const path = `/oauth/authorize?state=${'a'.repeat(40_000)}`;
        nodes.expect(({ url }, response) => response.writeHead(302, { location: url }).end());
        const answer = await proxy.agent.request({ origin: proxy.url, path, method: 'GET', headers: {} });
        await answer.body.dump();
        assert.deepEqual([answer.statusCode, answer.headers.location], [302, path]);
      });

      await t.test('an upload of 7 MB passes, one of 9 MB does not', async () => {
        const arrivals = nodes.expect((_arrival, response) => response.end());
        assert.equal((await send(proxy, 'POST', '/dashboard/profile', {}, Buffer.alloc(7_000_000))).status, 200);
        assert.equal(arrivals[0]?.body.length, 7_000_000);
        // A proxy may close the connection while the rest is still being sent.
        const large = Buffer.alloc(9_000_000);
        const refused = await send(proxy, 'POST', '/dashboard/profile', {}, large).catch(() => undefined);
        assert.ok(refused === undefined || refused.status === 413, `${refused?.status}`);
        assert.equal(arrivals.length, 1);
      });

      await t.test('a stream is passed on as it comes', async () => {
        const { promise: opened, resolve } = Promise.withResolvers<ServerResponse>();
        nodes.expect((_arrival, response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' }).write('id: 1\n\n');
          resolve(response);
        });
        const answer = await proxy.agent.request({ origin: proxy.url, path: '/v1/events/stream', method: 'GET' });
        const chunks = answer.body[Symbol.asyncIterator]();
        assert.equal(String((await chunks.next()).value), 'id: 1\n\n');
        const stream = await opened;
        stream.write('id: 2\n\n');
        assert.equal(String((await chunks.next()).value), 'id: 2\n\n');
        stream.end();
        assert.equal((await chunks.next()).done, true);
      });

      await t.test('polls with a stream key reach one node, those with others other nodes', async () => {
        const arrivals = nodes.expect((_arrival, response) => response.end());
        const used = new Set<number>();
        for (let i = 0; i < 12; i++) {
          const token = `njk_${String(i).repeat(43)}`;
          for (const rest of ['', '&sid=1', '&sid=1&t=2'])
            await send(proxy, 'GET', `/socket.io/?EIO=4&transport=polling&token=${token}${rest}`);
          const own = new Set(arrivals.filter(({ url }) => url.includes(`${token}&`)).map(({ node }) => node));
          assert.equal(own.size, 1);
          for (const node of own) used.add(node);
        }
        assert.ok(used.size > 1, 'spread over the nodes');
      });
    });
  });
