import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { until } from '../../../sdk/test/until.ts';
import { receiverCertificate, startReceiver } from '../../test/receiver.ts';
import { createSafeFetch, type SafeFetchOptions } from './safe-fetch.ts';

const loopback = ['127.0.0.0/8'];

function fetchWith(t: { after(fn: () => Promise<void>): void }, options: Partial<SafeFetchOptions> = {}) {
  const fetch = createSafeFetch({ allowCidrs: [], resolve: async () => ['127.0.0.1'], ...options });
  t.after(() => fetch.close());
  return fetch;
}

const post = (url: string) => ({ url: new URL(url), headers: { 'content-type': 'application/json' }, body: '{}' });

// biome-ignore format: a table
const refusedHosts = [
  // loopback, in every way to write it
  '127.0.0.1', '127.1', '127.0.0.1.', '2130706433', '0x7f000001', '0x7f.1', '0177.0.0.1', '017700000001', '%31%32%37.0.0.1',
  '１２７.0.0.1', '127.255.255.254', '[::1]', '[0:0:0:0:0:0:0:1]',
  // this network, private, shared, link-local, metadata
  '0.0.0.0', '0', '0.1.2.3', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', '3232235777', '0xc0a80101',
  '100.64.0.1', '100.100.100.200', '169.254.0.1', '169.254.169.254', '0xa9fea9fe', '168.63.129.16', '192.0.0.192',
  '[fe80::1]', '[fec0::1]', '[fc00::1]', '[fd00:ec2::254]', '[::]',
  // documentation, benchmark, relay, multicast, broadcast, reserved
  '192.0.2.1', '198.51.100.1', '203.0.113.1', '198.18.0.1', '192.88.99.1', '224.0.0.1', '239.255.255.255', '240.0.0.1',
  '255.255.255.255', '[ff02::1]', '[2001:db8::1]', '[100::1]', '[3fff::1]', '[5f00::1]', '[4000::1]',
  // an IPv4 address inside an IPv6 one: mapped, compatible, translated, 6to4, Teredo
  '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::ffff:8.8.8.8]', '[::127.0.0.1]', '[::ffff:0:127.0.0.1]',
  '[64:ff9b::127.0.0.1]', '[64:ff9b::8.8.8.8]', '[64:ff9b:1::a00:1]', '[2002:7f00:1::1]', '[2002:c0a8:101::1]',
  '[2001:0:7f00:1::1]', '[2001:0:4136:e378:8000:63bf:3fff:fdd2]',
];

test('security 31: no non-public address is accepted or connected to, however it is written', async (t) => {
  const fetch = fetchWith(t);
  for (const host of refusedHosts) {
    assert.equal(await fetch.problem(`https://${host}/hook`), 'not_public', host);
    const { status, error } = await fetch.post(post(`https://${host}:9999/hook`));
    assert.deepEqual({ status, error }, { status: null, error: 'The address must lead to a public address.' }, host);
  }
});

test('security 39: only port 80, 443 or one from 1024 up is accepted and connected to, opened ranges included', async (t) => {
  const fetch = fetchWith(t, { allowCidrs: loopback });
  for (const port of [1, 22, 25, 110, 1023]) {
    assert.equal(await fetch.problem(`https://app.example:${port}/`), 'port', String(port));
    const { status, error } = await fetch.post(post(`https://app.example:${port}/`));
    const refusal = 'The address must use port 80, 443 or one from 1024 up.';
    assert.deepEqual({ status, error }, { status: null, error: refusal }, String(port));
  }
  for (const url of [
    'https://app.example/',
    'https://app.example:80/',
    'http://app.example/',
    'https://a.example:1024/',
  ])
    assert.equal(await fetch.problem(url), undefined, url);
});

test('security 31: a name with any non-public address is refused at registration and at connection', async (t) => {
  const bare = (host: string) => host.replace(/^\[(.*)\]$/, '$1');
  for (const host of ['127.0.0.1', '10.1.2.3', '169.254.169.254', '::1', '::ffff:127.0.0.1', '64:ff9b::7f00:1']) {
    for (const answers of [[host], ['93.184.216.34', bare(host)]]) {
      const fetch = fetchWith(t, { resolve: async () => answers });
      assert.equal(await fetch.problem('https://sneaky.example/'), 'not_public');
      const { status, error } = await fetch.post(post('https://sneaky.example/'));
      assert.deepEqual({ status, error }, { status: null, error: 'The address must lead to a public address.' });
    }
  }
});

test('security 31: a resolver that changes its answer cannot win: one question, and only its answer is connected to', async (t) => {
  const receiver = await startReceiver(t, { tls: true });
  let questions = 0;
  const rebinding = fetchWith(t, {
    ca: receiverCertificate,
    // Public when it is registered, ours from then on.
    resolve: async () => (questions++ === 0 ? ['93.184.216.34'] : ['127.0.0.1']),
  });
  assert.equal(await rebinding.problem(receiver.url), undefined);
  const refused = await rebinding.post(post(receiver.url));
  assert.equal(refused.error, 'The address must lead to a public address.');
  assert.equal(questions, 2, 'one question for the registration, one for the connection');
  assert.equal(receiver.connections.length, 0, 'nothing was connected to');

  questions = 0;
  const pinned = fetchWith(t, {
    allowCidrs: loopback,
    ca: receiverCertificate,
    resolve: async () => (questions++ === 0 ? ['127.0.0.1'] : ['10.0.0.1']),
  });
  const answer = await pinned.post(post(receiver.url));
  assert.equal(answer.status, 204);
  assert.equal(questions, 1);
  assert.equal(receiver.requests[0]!.headers.host, new URL(receiver.url).host, 'the name stays the name');
});

test('security 31: a redirect is an answer, not a way on', async (t) => {
  const [first, second] = [await startReceiver(t), await startReceiver(t)];
  first.answer = (response) => response.writeHead(307, { location: second.url }).end();
  const answer = await fetchWith(t, { allowCidrs: loopback }).post(post(first.url));
  assert.equal(answer.status, 307);
  assert.equal(second.connections.length, 0);
});

test('plain http: only where every address was opened', async (t) => {
  const receiver = await startReceiver(t);
  const names: Record<string, string[]> = { 'open.example': ['127.0.0.1'], 'public.example': ['93.184.216.34'] };
  const fetch = fetchWith(t, { allowCidrs: ['127.0.0.1', '10.0.0.0/8'], resolve: async (name) => names[name] ?? [] });
  assert.equal(await fetch.problem(receiver.url), undefined);
  assert.equal(await fetch.problem('http://open.example/'), undefined);
  assert.equal(await fetch.problem('http://public.example/'), 'not_https');
  assert.equal(await fetch.problem('http://8.8.8.8/'), 'not_https');
  assert.equal((await fetch.post(post('http://public.example:9999/'))).error, 'The address must begin with https://.');
  assert.equal(await fetch.problem('http://127.0.0.2/'), 'not_public');
  assert.equal((await fetch.post(post(receiver.url))).status, 204);
  assert.equal(await fetchWith(t).problem('http://app.example/'), 'not_https');
});

test('a URL is opened only if all that it leads to was opened', async (t) => {
  const names: Record<string, string[]> = {
    'open.example': ['127.0.0.1', '10.0.0.7'],
    'both.example': ['127.0.0.1', '93.184.216.34'],
    'public.example': ['93.184.216.34'],
  };
  const fetch = fetchWith(t, { allowCidrs: ['127.0.0.1', '10.0.0.0/8'], resolve: async (name) => names[name] ?? [] });
  const opened = async (url: string) => fetch.isOpened(new URL(url));
  for (const url of ['http://127.0.0.1:8080/', 'https://open.example/', 'https://10.255.0.1/'])
    assert.equal(await opened(url), true, url);
  for (const url of ['https://both.example/', 'https://public.example/', 'https://nothing.example/', 'https://[::1]/'])
    assert.equal(await opened(url), false, url);
});

test('what can be registered', async (t) => {
  const fetch = fetchWith(t, {
    resolve: async (name) => {
      if (name === 'public.example') return ['93.184.216.34', '2606:2800:220:1:248:1893:25c8:1946'];
      throw new Error('ENOTFOUND');
    },
  });
  for (const url of [
    'https://public.example/hook?a=b',
    'https://nowhere.example',
    'https://8.8.8.8',
    'https://[2606:4700::1111]/',
  ])
    assert.equal(await fetch.problem(url), undefined, url);
  const refused = {
    'ftp://public.example': 'not_https',
    'javascript:alert(1)': 'not_https',
    'https://a:b@public.example': 'user_info',
    'https://public.example/#x': 'fragment',
    'https://public .example': 'malformed',
    'public.example': 'malformed',
    [`https://public.example/${'x'.repeat(2048)}`]: 'too_long',
  };
  for (const [url, problem] of Object.entries(refused)) assert.equal(await fetch.problem(url), problem, url);
});

test('security 32: a receiver that never answers, answers for ever or sends a gigabyte costs a bounded time and little memory', async (t) => {
  const receiver = await startReceiver(t);
  const timed = async (timeoutMs: number) => {
    const fetch = fetchWith(t, { allowCidrs: loopback, timeoutMs });
    const started = performance.now();
    const answer = await fetch.post(post(receiver.url));
    return { ...answer, ms: performance.now() - started };
  };

  receiver.answer = () => {};
  const never = await timed(1_500);
  assert.deepEqual([never.status, never.timedOut], [null, true]);
  assert.equal(never.error, 'no complete answer within 1.5 seconds');
  assert.ok(never.ms >= 1_490 && never.ms < 6_000, `${never.ms} ms`);

  receiver.answer = (response) => {
    response.writeHead(200);
    const drip = setInterval(() => response.write('x'), 20);
    response.on('close', () => clearInterval(drip));
  };
  const endless = await timed(5_000);
  assert.deepEqual([endless.status, endless.timedOut], [200, true]);
  assert.ok(endless.ms < 10_000, `${endless.ms} ms`);

  let sent = 0;
  receiver.answer = (response) => {
    const block = Buffer.alloc(256 * 1024, 'x');
    const more = () => {
      while (sent < 2 ** 30 && !response.destroyed) {
        sent += block.length;
        if (!response.write(block)) return void response.once('drain', more);
      }
    };
    response.writeHead(200);
    more();
  };
  const huge = await timed(60_000);
  assert.equal(huge.status, 200);
  assert.equal(huge.body?.length, 1024, 'the body is kept short');
  assert.ok(sent < 2 ** 26, `${sent} bytes were taken`);
  await Promise.all(
    receiver.connections.map((socket) => socket.destroyed || new Promise((done) => socket.once('close', done))),
  );
});

/** By its own error, long before the time is up. */
const patientMs = 60_000;

interface Tarpit {
  readonly scheme: 'http' | 'https';
  readonly timeoutMs: number;
  readonly write: (socket: Socket) => void;
  readonly error: RegExp;
  /** What it can write before a limit is hit, with what the buffers of sockets take. */
  readonly mostBytes?: number;
}

/** What a hostile receiver writes on each connection, and whether it is spoken to by TLS. */
const tarpits: Record<string, Tarpit> = {
  'never completes the TLS handshake': {
    scheme: 'https',
    timeoutMs: 1_000,
    write: () => {},
    error: /^no complete answer within/,
  },
  'sends informational answers for ever': {
    scheme: 'http',
    timeoutMs: 1_000,
    write: (socket) => repeat(socket, 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'),
    error: /^no complete answer within/,
  },
  'floods informational answers': {
    scheme: 'http',
    timeoutMs: patientMs,
    write: (socket) => flood(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(1000)),
    error: /^too many informational answers/,
    mostBytes: 2 ** 25,
  },
  'sends a status line, one letter at a time': {
    scheme: 'http',
    timeoutMs: patientMs,
    write: (socket) => repeat(socket, 'H'),
    error: /does not match the HTTP\/1.1 protocol/,
    mostBytes: 100,
  },
  'sends header fields for ever': {
    scheme: 'http',
    timeoutMs: patientMs,
    write: (socket) => repeat(socket, `x-more: ${'y'.repeat(4_000)}\r\n`, 'HTTP/1.1 200 OK\r\n'),
    error: /^UND_ERR_HEADERS_OVERFLOW|^HPE_HEADER_OVERFLOW/,
    mostBytes: 2 ** 18,
  },
};

function repeat(socket: Socket, text: string, first = ''): void {
  socket.write(first);
  const timer = setInterval(() => socket.write(text), 20);
  socket.on('close', () => clearInterval(timer));
}

function flood(socket: Socket, text: string): void {
  const more = (): void => {
    while (!socket.destroyed && socket.write(text));
  };
  socket.on('drain', more);
  more();
}

for (const [what, { scheme, timeoutMs, write, error, mostBytes = Number.POSITIVE_INFINITY }] of Object.entries(tarpits))
  test(`security 32: a receiver that ${what} costs a bounded time, and its connection is closed`, async (t) => {
    const sockets: Socket[] = [];
    const server = createServer((socket) => {
      sockets.push(socket.on('error', () => {}).resume());
      write(socket);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    const fetch = fetchWith(t, { allowCidrs: loopback, timeoutMs });
    const started = performance.now();
    const answer = await fetch.post(post(`${scheme}://127.0.0.1:${port}/`));
    assert.match(answer.error ?? '', error);
    assert.ok(performance.now() - started < timeoutMs + 5_000);
    await until('the connection is closed', () => sockets.length > 0 && sockets.every(({ closed }) => closed));
    const written = sockets.reduce((sum, { bytesWritten }) => sum + bytesWritten, 0);
    assert.ok(written < mostBytes, `${written} bytes were written`);
  });

test('security 32: a name server that never answers costs a bounded time', async (t) => {
  const fetch = fetchWith(t, { resolve: () => new Promise(() => {}), timeoutMs: 500 });
  const answer = await fetch.post(post('https://slow.example/'));
  assert.deepEqual([answer.status, answer.timedOut], [null, true]);
});

test('a connection is used again after a short answer', async (t) => {
  const receiver = await startReceiver(t);
  receiver.answer = (response) => response.writeHead(200).end('x'.repeat(10_000));
  const fetch = fetchWith(t, { allowCidrs: loopback });
  for (let i = 0; i < 20; i++) assert.equal((await fetch.post(post(receiver.url))).body?.length, 1024);
  assert.ok(receiver.connections.length <= 2, `${receiver.connections.length} connections`);
});

test('a wrong certificate is a failed attempt', async (t) => {
  const receiver = await startReceiver(t, { tls: true });
  const untrusting = fetchWith(t, { allowCidrs: loopback });
  assert.match((await untrusting.post(post(receiver.url))).error ?? '', /SELF_SIGNED|certificate/i);
  const wrongName = fetchWith(t, { allowCidrs: loopback, ca: receiverCertificate });
  const answer = await wrongName.post(post(receiver.url.replace('receiver.test', 'wrong.test')));
  assert.match(answer.error ?? '', /ALTNAME/);
  assert.equal(receiver.requests.length, 0);
});
