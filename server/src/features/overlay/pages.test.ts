import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../../../test/build-app.ts';
import { makeCreator } from '../../../test/factories.ts';
import { signedInVisitor } from '../../../test/visitor.ts';
import { createLog } from '../../platform/log.ts';

const home = '/dashboard/overlay';

async function creatorAt(t: Parameters<typeof buildApp>[0], overrides: Parameters<typeof buildApp>[2] = {}) {
  const app = await buildApp(t, {}, overrides);
  const { creatorId } = await makeCreator(app.runtime);
  const visitor = await signedInVisitor(app, creatorId);
  const tip = async (amount = 50) => {
    const fields = { amount, name: 'SOMCHAI', displayName: '<b>Som</b>', message: null };
    return (await app.runtime.tips.record({ creatorId, app: null, ...fields })).tip;
  };
  const types = async () => (await app.runtime.events.after(creatorId, 0, 100)).map(({ type }) => type);
  return { ...app, creatorId, visitor, tip, types };
}

const good = {
  minimum: '20.50',
  volume: '0',
  age: '5',
  voice: 'on',
  voice_from: '99.50',
  voice_length: '120',
};

test('security 30: the address is shown only when asked for, after a recent sign-in, and can be replaced', async (t) => {
  const { visitor, runtime, creatorId, clock } = await creatorAt(t);
  assert.doesNotMatch((await visitor.get(home)).body, /njo_/);
  const key = await runtime.overlays.key(creatorId);
  const shown = await visitor.post(`${home}/address`);
  assert.ok(shown.body.includes(`${runtime.config.authUrl}/overlay/${key}`));
  assert.equal((await visitor.post(`${home}/replace`)).statusCode, 303);
  assert.notEqual(await runtime.overlays.key(creatorId), key);
  clock.advance(11 * 60_000);
  for (const path of ['address', 'replace']) {
    const asked = await visitor.post(`${home}/${path}`, {}, { referer: `${runtime.config.authUrl}${home}` });
    assert.equal(asked.headers.location, `/login?return_to=${encodeURIComponent(home)}`);
  }
});

test('settings are kept as typed, errors stand beside the field and nothing is lost', async (t) => {
  const { visitor, runtime, creatorId } = await creatorAt(t);
  const wrong = { minimum: '1.234', volume: '101', age: 'x', voice_from: '-1', voice_length: '9' };
  const refused = await visitor.post(`${home}/settings`, wrong);
  assert.equal(refused.statusCode, 422);
  assert.equal(refused.body.match(/class="error"/g)?.length, 5);
  assert.match(refused.body, /value="1\.234"/);
  const before = (await runtime.overlays.get(creatorId)).settings;
  assert.equal(before.volume, 60);
  assert.equal((await visitor.post(`${home}/settings`, good)).statusCode, 303);
  assert.deepEqual((await runtime.overlays.get(creatorId)).settings, {
    ...before,
    minimumMinor: 2050,
    volume: 0,
    maxAgeMinutes: 5,
    voice: { on: true, fromMinor: 9950, length: 120 },
  });
  await visitor.post(`${home}/settings`, { ...good, minimum: '฿1,000' });
  assert.equal((await runtime.overlays.get(creatorId)).settings.minimumMinor, 100_000);
});

test('the page says live whether an overlay is open, and only to its creator', async (t) => {
  const { visitor, http } = await creatorAt(t);
  const { body } = await visitor.get(`${home}/now`);
  assert.match(body, /None\. Alerts wait until one is opened/);
  assert.doesNotMatch(body, /<html/);
  assert.equal((await http.inject({ url: `${home}/now` })).statusCode, 303);
});

test('the creator pauses, skips, replays and tests, without scripts', async (t) => {
  const { visitor, runtime, creatorId, tip, types } = await creatorAt(t);
  await visitor.post(`${home}/settings`, { ...good, minimum: '200' });
  const { id } = await tip();
  await visitor.post(`${home}/pause`);
  assert.equal((await runtime.overlays.get(creatorId)).paused, true);
  await visitor.post(`${home}/resume`);
  assert.equal((await runtime.overlays.get(creatorId)).paused, false);
  assert.match((await visitor.get(home)).body, new RegExp(`${home}/skip/${id}`));
  await visitor.post(`${home}/skip/${id}`);
  await visitor.post(`${home}/skip/${id}`);
  await visitor.post(`${home}/replay/1`);
  assert.match((await visitor.get(home)).body, /No overlay is open, so nobody sees the alert now/);
  await visitor.post(`${home}/test`);
  assert.deepEqual(await types(), ['tip.created', 'alert.skipped', 'alert.replayed', 'alert.test']);
  const [sample] = await runtime.overlays.recent(creatorId, 1);
  assert.equal(sample?.amountMinor, 20_000, 'not hidden by the smallest amount');
  const { body } = await visitor.get(home);
  assert.ok(body.includes(`href="/dashboard/tips/${id}"`), 'the status leads to the tip, which says why');
  assert.match(body, /&lt;b&gt;Som&lt;\/b&gt;|&#60;b&#62;Som/);
  assert.doesNotMatch(body, /<b>Som/);
  for (const sequence of ['2', '99', 'x'])
    assert.equal((await visitor.post(`${home}/replay/${sequence}`)).statusCode, 404);
  await runtime.screening.change(creatorId, (rules) => ({ ...rules, blockedNames: ['SOMCHAI'] }));
  const blocked = await tip();
  assert.equal((await runtime.tips.byId(creatorId, blocked.id)).alert.status, 'skipped');
  const { body: after } = await visitor.get(home);
  assert.ok(after.includes(`/dashboard/tips/${blocked.id}`));
  const offered = [...after.matchAll(/\/replay\/(\d+)"/g)].map(([, sequence]) => Number(sequence));
  assert.ok(offered.includes(1) && !offered.includes(5), 'one that is never shown is not offered to be played again');
});

test('another creator’s alert is out of reach', async (t) => {
  const app = await creatorAt(t);
  const { id } = await app.tip();
  const other = await signedInVisitor(app, (await makeCreator(app.runtime)).creatorId);
  await other.post(`${home}/skip/${id}`);
  assert.equal((await other.post(`${home}/replay/1`)).statusCode, 404);
  assert.deepEqual(await app.types(), ['tip.created']);
});

test('security 5: nothing of it happens without this session’s token, or from another origin', async (t) => {
  const { visitor, runtime, creatorId, tip, types } = await creatorAt(t);
  const { id } = await tip();
  const before = [await runtime.overlays.key(creatorId), await runtime.overlays.get(creatorId)];
  for (const path of ['address', 'replace', 'settings', 'pause', 'test', 'replay/1', `skip/${id}`]) {
    assert.equal((await visitor.post(`${home}/${path}`, { ...good, csrf: 'x' })).statusCode, 403, path);
    const foreign = await visitor.post(`${home}/${path}`, good, { origin: 'https://evil.example' });
    assert.equal(foreign.statusCode, 403, path);
  }
  assert.deepEqual([await runtime.overlays.key(creatorId), await runtime.overlays.get(creatorId)], before);
  assert.deepEqual(await types(), ['tip.created']);
});

test('the preview is for our own pages and knows no key', async (t) => {
  const { visitor, runtime, creatorId, http } = await creatorAt(t);
  const { headers, body } = await visitor.get(`${home}/preview`);
  assert.match(String(headers['content-security-policy']), /frame-ancestors 'self'/);
  assert.ok(!body.includes(await runtime.overlays.key(creatorId)));
  assert.equal((await http.inject({ url: `${home}/preview` })).statusCode, 303);
});

test('security 24: the key is in clear neither in the log nor in the store', async (t) => {
  const lines: string[] = [];
  const log = createLog({ level: 'trace', stream: { write: (line) => lines.push(line) } });
  const { visitor, runtime, creatorId, http } = await creatorAt(t, { log });
  const key = await runtime.overlays.key(creatorId);
  await visitor.post(`${home}/address`);
  for (const path of ['', '/state', '/nothing']) await http.inject({ url: `/overlay/${key}${path}` });
  const logged = lines.join('');
  assert.match(logged, /\/overlay\/\[redacted\]\/state/);
  assert.ok(!logged.includes(key.slice(4)));
  const rows = await runtime.db.all('SELECT * FROM overlays');
  assert.ok(rows.length === 1 && !Buffer.from(JSON.stringify(rows)).includes(key));
  for (const { sealed_key } of await runtime.db.all<{ sealed_key: Uint8Array }>('SELECT sealed_key FROM overlays'))
    assert.ok(!Buffer.from(sealed_key).includes(key.slice(4)));
});
