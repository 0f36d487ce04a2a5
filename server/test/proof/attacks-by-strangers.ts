/** What a stranger can do who has no account. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Attacker, closed, strangerAddress } from './attacker.ts';

const json = { 'content-type': 'application/json' };

/** Wrong passwords for the accounts of others, from so many addresses. */
const wrongSignIns = (addresses: number) => async (attacker: Attacker) => {
  const { read, send, paced, world } = attacker;
  const form = await read({ path: '/login', headers: { accept: 'text/html' } });
  const csrf = /name="csrf" value="([^"]+)"/.exec(form?.text ?? '')?.[1];
  if (!form?.cookie || csrf === undefined) return attacker.count('no form');
  const headers = {
    cookie: form.cookie,
    origin: world.authUrl,
    accept: 'text/html',
    'content-type': 'application/x-www-form-urlencoded',
  };
  await paced(60, 48, async (n) => {
    const username = world.usernames[n % world.usernames.length] ?? '';
    const body = new URLSearchParams({ csrf, username, password: `wrong password ${n}` }).toString();
    await send({ path: '/login', method: 'POST', headers, body, address: `198.51.100.${1 + (n % addresses)}` });
  });
};

export const signInsFromOne = wrongSignIns(1);
export const signInsFromFifty = wrongSignIns(50);

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Tokens that nobody signed, each a new one: of a good form, of another kind, of 10 kB. */
export const badTokens = ({ send, paced, world }: Attacker) =>
  paced(150, 48, async (n) => {
    const [header = '', claims = ''] = world.pairs[0].accessToken.split('.');
    const signature = randomBytes(64).toString('base64url');
    const tokens = [
      `${header}.${claims}.${signature}`,
      `${encode({ alg: 'none', typ: 'at+jwt' })}.${claims}.`,
      `${encode({ alg: 'ES256', typ: 'at+jwt', kid: `../../${n}` })}.${claims}.${signature}`,
      `${header}.${encode({ sub: 'crt_0', n, filler: 'x'.repeat(10_000) })}.${signature}`,
      'njo_wrong',
    ];
    const authorization = `Bearer ${tokens[n % tokens.length]}`;
    await send({ path: n % 2 ? '/v1/me' : '/v1/tips', headers: { authorization } });
  });

/** Wrong secrets, unknown apps and refresh tokens, codes that were never issued. */
export const tokenEndpoint = ({ send, paced, world }: Attacker) =>
  paced(60, 48, async (n) => {
    const { clientId, clientSecret } = world.pairs[0];
    const bodies = [
      { grant_type: 'refresh_token', client_id: clientId, client_secret: `njs_${n}`, refresh_token: 'njr_x' },
      { grant_type: 'refresh_token', client_id: `app_${n}`, client_secret: 'njs_x', refresh_token: 'njr_x' },
      { grant_type: 'refresh_token', client_id: clientId, client_secret: clientSecret, refresh_token: `njr_${n}` },
      { grant_type: 'authorization_code', client_id: clientId, client_secret: clientSecret, code: `njc_${n}` },
    ];
    const path = n % 7 === 0 ? '/v1/oauth/introspect' : '/v1/oauth/token';
    await send({ path, method: 'POST', headers: json, body: JSON.stringify(bodies[n % bodies.length]) });
  });

const open = [
  '/readyz',
  '/healthz',
  '/openapi.json',
  '/docs',
  '/docs/events',
  '/login',
  '/',
  '/@mallory',
  '/@nobody',
  '/v1/nothing',
];

/** What anybody may open, as fast as one address can ask. */
export const publicPages = ({ send, paced }: Attacker) =>
  paced(200, 48, async (n) => {
    await send({ path: open[n % open.length] ?? '', headers: { accept: 'text/html' } });
  });

/** Bodies that cost more to read than to send. */
export const giantBodies = ({ send, paced, world }: Attacker) => {
  const bodies = [
    '['.repeat(60_000),
    `{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`,
    `{"__proto__":${JSON.stringify('x'.repeat(50_000))}}`,
    `{"name":"${'\\u0000'.repeat(9_000)}"}`,
    JSON.stringify(Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`k${i}`, i]))),
    'x'.repeat(200_000),
    JSON.stringify({ amount: 1, name: 'MALLORY', message: '\ud800'.repeat(5_000) }),
  ];
  const targets = ['/v1/tips', '/v1/oauth/token', '/v1/alerts', `/overlay/${world.overlayKey}/ack`];
  return paced(30, 48, async (n) => {
    const headers = { ...json, ...world.pairs[0].headers };
    await send({
      path: targets[n % targets.length] ?? '',
      method: 'POST',
      headers,
      body: bodies[n % bodies.length] ?? '',
    });
  });
};

/** Connections that send a byte now and then: headers, bodies, TLS where none is spoken. */
export async function slowRequests(attacker: Attacker): Promise<void> {
  const head = (path: string) =>
    `POST ${path} HTTP/1.1\r\nHost: ${attacker.host}\r\nX-Forwarded-For: ${strangerAddress}\r\n`;
  const authorization = `Authorization: ${attacker.world.pairs[0].headers.authorization}\r\n`;
  const sockets = Array.from({ length: 80 }, (_, n) => {
    const socket = attacker.tcp();
    socket.once('data', (chunk) => attacker.count(String(chunk).slice(9, 12)));
    const beginnings = [
      `${head('/v1/oauth/token')}Content-Type: application/json\r\nContent-Length: 5000\r\n\r\n{`,
      `${head('/v1/tips')}${authorization}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`,
      head('/login'),
      '\x16\x03\x01\x02\x00\x01',
    ];
    socket.write(beginnings[n % beginnings.length] ?? '');
    return socket;
  });
  while (attacker.goesOn()) {
    await sleep(250);
    for (const socket of sockets) if (socket.writable) socket.write('x');
  }
}

/** What is no HTTP, or HTTP that two servers could read in two ways. */
export const oddRequests = (attacker: Attacker) => {
  const { host } = attacker;
  const lines = [
    'GET * HTTP/1.1\r\nHost: x\r\n\r\n',
    `GET /%00%ff%zz HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
    `GET /${'a'.repeat(60_000)} HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
    `POST /v1/tips HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /v1/me`,
    `GET /v1/me HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n`,
    `GET / HTTP/1.1\r\nHost: ${host}\r\nCookie: ${'a=b; '.repeat(15_000)}\r\n\r\n`,
    '\x00\x01\x02\x03\r\n\r\n',
    `GET /v1/socket HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 99\r\n\r\n`,
  ];
  return attacker.paced(40, 60, async (n) => {
    const socket = attacker.tcp();
    socket.once('data', (chunk) => attacker.count(String(chunk).slice(9, 12)));
    socket.end(lines[n % lines.length] ?? '');
    await closed(socket, 2_000);
    socket.destroy();
  });
};

/** Requests whose sender is gone before the answer. */
export const abandoned = (attacker: Attacker) =>
  attacker.paced(50, 60, async (n) => {
    const { host, world, random } = attacker;
    const cookie = `Cookie: namjai=${world.sessions[1]}\r\n`;
    const authorization = `Authorization: ${world.pairs[0].headers.authorization}\r\n`;
    const body = '{"amount":1,"name":"MALLORY"}';
    const requests = [
      `GET /dashboard/tips.csv HTTP/1.1\r\nHost: ${host}\r\n${cookie}\r\n`,
      `POST /v1/tips HTTP/1.1\r\nHost: ${host}\r\n${authorization}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      `GET /v1/tips?limit=100 HTTP/1.1\r\nHost: ${host}\r\n${authorization}\r\n`,
      `GET /docs HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
    ];
    const socket = attacker.tcp();
    socket.write(requests[n % requests.length] ?? '');
    await sleep(random() * 20);
    socket.resetAndDestroy();
    attacker.count('cut');
  });
