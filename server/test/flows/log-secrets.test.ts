import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { test } from 'node:test';
import { seed, seeded } from '../../../sdk/test/seeded.ts';
import { until } from '../../../sdk/test/until.ts';
import { createLog } from '../../src/platform/log.ts';
import { buildApp } from '../build-app.ts';
import { makePair } from '../factories.ts';

const random = seeded(seed);

type Encode = (text: string) => string;
const hex = (char: string): string => char.charCodeAt(0).toString(16).padStart(2, '0');
const some =
  (encode: Encode): Encode =>
  (text) =>
    [...text].map((char) => (random() < 0.5 ? encode(char) : char)).join('');
const percent: Encode = (text) => text.replace(/./g, (char) => `%${hex(char)}`);
const upper: Encode = (text) => text.replace(/./g, (char) => `%${hex(char).toUpperCase()}`);
const again: Encode = (text) => text.replaceAll('%', '%25');
const old: Encode = (text) => text.replace(/./g, (char) => `%u00${hex(char)}`);

const encodings: readonly Encode[] = [
  (text) => text,
  percent,
  upper,
  some(percent),
  some(upper),
  old,
  some(old),
  (text) => again(percent(text)),
  (text) => again(again(some(percent)(text))),
  (text) => again(again(again(again(again(again(again(again(again(percent(text)))))))))),
  (text) => text.replace('_', '%5f'),
  (text) => `${text.slice(0, 24)}%00${text.slice(24)}`,
  (text) => `${text.slice(0, 24)}/${text.slice(24)}`,
  (text) => `%E2%80%8B${text}%zz`,
];

/** Wherever a careless or hostile client may put a credential. */
const places: readonly Encode[] = [
  (text) => `/overlay/${text}`,
  (text) => `/overl%61y/${text}/state`,
  (text) => `/OVERLAY/${text}/ack`,
  (text) => `//overlay//${text}`,
  (text) => `/./overlay/../overlay/${text}`,
  (text) => `/overlay%2f${text}`,
  (text) => `/dashboard/overlay/${text}`,
  (text) => `/v1/tips/${text}`,
  (text) => `/v1/me/${text}/x`,
  (text) => `/v1/me;token=${text}`,
  (text) => `/v1/me;${text};x=1/y`,
  (text) => `/v1/me%3Ftoken=${text}`,
  (text) => `/v1/me#access_token=${text}`,
  (text) => `/v1/me?access_token=${text}`,
  (text) => `/v1/me?${text}`,
  (text) => `/v1/me?a=1&${text}=2`,
  (text) => `/v1/me?a=1%26${text}`,
  (text) => `/v1/me??${text}?${text}`,
  (text) => `/login?return_to=%2Foverlay%2F${text}`,
  (text) => `/@${text}`,
  (text) => `/assets/${text}/style.css`,
  (text) => `http://localhost/${text}`,
  (text) => `/avatars/${text}.png`,
  (text) => `/socket.io/?EIO=4&transport=polling&token=${text}`,
  (text) => `/socket.io/?EIO=3&token=${text}&transport=polling&sid=${text}`,
  (text) => `/socket.io/${text}`,
  (text) => `/socket.io/?EIO=3&transport=websocket&sid=${text}&${text}`,
];

/** As a reader of the log would who looks for credentials: with every escape undone. */
function undone(log: string): string {
  let text = log;
  for (let depth = 0; depth < 12; depth++)
    text = text.replace(/%(?:u00)?([2-7][0-9a-f])/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16)));
  return text;
}

test(`security 52: no credential reaches the log, in whatever place and encoding (TEST_SEED=${seed})`, async (t) => {
  let logged = '';
  const log = createLog({ level: 'trace', stream: { write: (line) => (logged += line) } });
  const app = await buildApp(t, { LOG_LEVEL: 'trace' }, { log });
  const { runtime, http } = app;
  const pair = await makePair(runtime);
  const secrets = {
    'overlay key': await runtime.overlays.key(pair.creatorId),
    'refresh token': pair.refreshToken,
    'client secret': pair.clientSecret,
    'access token': pair.accessToken,
    'stream key': (await runtime.streamKeys.make(pair.creatorId, { label: '' })) ?? '',
  };
  await http.listen({ host: '127.0.0.1', port: 0 });
  const { port } = http.server.address() as AddressInfo;
  let sent = 0;
  for (const [name, secret] of Object.entries(secrets)) {
    logged = '';
    let asked = 0;
    for (const place of places)
      for (const encode of encodings) {
        const target = place(encode(secret));
        const headers = `Host: localhost:8080\r\nReferer: http://localhost${target}\r\nX-Note: ${secret}`;
        // A connection each: the server closes one after a long head.
        const socket = connect(port, '127.0.0.1').resume();
        t.after(() => socket.destroy());
        socket.end(`GET ${target} HTTP/1.1\r\n${headers}\r\n\r\n`);
        asked += 1;
      }
    await until(`all ${asked} requests are logged`, () => logged.split('\n').length > asked);
    sent += asked;
    const found = undone(logged);
    // Long enough to be told from chance, short enough to find a part.
    for (let at = 4; at + 16 <= secret.length; at += 4) {
      const part = secret.slice(at, at + 16);
      const line = found.split('\n').find((one) => one.includes(part));
      assert.equal(line, undefined, `${name}, from ${at}`);
    }
    for (const line of logged.trim().split('\n')) {
      const { status, msg } = JSON.parse(line);
      // The end of a program's connection answers no request. On a slow machine it comes before the last answer.
      if (msg !== 'program disconnected') assert.equal(typeof status, 'number', line);
    }
  }
  assert.ok(sent > 1000);
});

test('a line for a refused request has its error code', async (t) => {
  let logged = '';
  const log = createLog({ level: 'info', stream: { write: (line) => (logged += line) } });
  const { http, runtime } = await buildApp(t, {}, { log });
  const { headers } = await makePair(runtime);
  const cases = [
    [{ url: '/v1/me' }, 401, 'token_missing'],
    [{ url: '/v1/me', headers: { authorization: 'Bearer x' } }, 401, 'token_invalid'],
    [{ url: '/v1/tips?limit=0', headers }, 422, 'validation_failed'],
    [{ url: '/v1/webhooks' }, 401, 'client_invalid'],
    [{ url: '/v1/nothing' }, 404, 'not_found'],
    [{ url: '/v1/me', method: 'PUT' }, 405, 'method_not_allowed'],
    [{ url: '/v1/oauth/token', method: 'POST', payload: { grant_type: 'password' } }, 400, 'unsupported_grant_type'],
    [{ url: '/v1/me', headers }, 200, undefined],
    [{ url: '/oauth/authorize', headers: { accept: 'text/html' } }, 400, undefined],
  ] as const;
  for (const [request, status, error] of cases) {
    logged = '';
    await http.inject(request);
    const line = JSON.parse(logged);
    assert.deepEqual([line.status, line.error], [status, error]);
  }
});
