import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tokenServer } from '../../test/token-server.ts';
import { AccessDenied, createOAuth, type DeviceCode, DeviceCodeExpired, memoryStore, OAuthError } from './index.ts';

/** A program on somebody's own machine. Time goes on only while it sleeps. */
function device(steps: string[]) {
  const server = tokenServer();
  server.answerDevice(steps);
  const slept: number[] = [];
  const shown: DeviceCode[] = [];
  let now = Date.now();
  const oauth = createOAuth({
    baseUrl: 'https://api.example',
    clientId: 'app_1',
    clientSecret: 'njs_secret',
    scope: 'tips.read',
    store: memoryStore(),
    encryptionKey: 'a key of thirty-two bytes or more',
    fetch: server.fetch,
    now: () => now,
    sleep: async (ms) => {
      slept.push(ms);
      now += ms;
    },
  });
  return { server, oauth, slept, shown, onCode: (code: DeviceCode) => void shown.push(code) };
}

test('a device shows its code, waits as it is told, and is connected', async () => {
  const steps = ['authorization_pending', 'slow_down', 'authorization_pending'];
  const { oauth, slept, shown, onCode } = device(steps);
  assert.deepEqual(await oauth.device({ onCode }), { creatorId: 'crt_device', scope: 'tips.read' });
  assert.deepEqual(shown, [
    {
      userCode: 'BCDF-GHJK',
      verificationUri: 'https://auth.example/device',
      verificationUriComplete: 'https://auth.example/device?user_code=BCDF-GHJK',
      expiresIn: 600,
    },
  ]);
  assert.deepEqual(slept, [5000, 5000, 10_000, 10_000]);
  assert.deepEqual(await oauth.as('crt_device').me(), { id: 'crt_device' });
});

test('a server that does not answer is asked again, less often', async () => {
  const { server, oauth, slept, onCode } = device([]);
  let left = 2;
  server.disturb(async (path, arrive) => {
    if (path !== '/v1/oauth/token' || left === 0) return arrive();
    left -= 1;
    if (left === 1) throw new TypeError('fetch failed');
    return new Response('{}', { status: 429, headers: { 'retry-after': '30' } });
  });
  assert.equal((await oauth.device({ onCode })).creatorId, 'crt_device');
  assert.deepEqual(slept, [5000, 10_000, 30_000]);
});

test('a denied, an expired and a used code end it with an error of their own', async () => {
  const { oauth, onCode } = device(['authorization_pending', 'access_denied']);
  await assert.rejects(oauth.device({ onCode }), AccessDenied);
  await assert.rejects(device(['expired_token']).oauth.device({ onCode }), DeviceCodeExpired);
  const used = device(['invalid_grant']).oauth.device({ onCode });
  await assert.rejects(used, (error) => error instanceof OAuthError && error.code === 'invalid_grant');
  // Nobody decides, and the server never says that it has expired.
  const { oauth: forgotten, slept } = device(Array.from({ length: 1000 }, () => 'authorization_pending'));
  await assert.rejects(forgotten.device({ onCode }), DeviceCodeExpired);
  assert.equal(slept.length, 120);
});

test('a device that gives up asks no more', async () => {
  const { server, oauth, onCode } = device(['authorization_pending', 'authorization_pending']);
  const controller = new AbortController();
  const reason = new Error('closed');
  const paths: string[] = [];
  server.disturb((path, arrive) => {
    paths.push(path);
    if (path === '/v1/oauth/token') controller.abort(reason);
    return arrive();
  });
  for (const _ of ['while it waits', 'before it begins'])
    await assert.rejects(oauth.device({ onCode, signal: controller.signal }), reason);
  assert.deepEqual(paths, ['/v1/oauth/device_authorization', '/v1/oauth/token']);
});
