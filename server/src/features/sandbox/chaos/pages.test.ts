import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { buildApp } from '../../../../test/build-app.ts';
import { makeApp, makeCreator } from '../../../../test/factories.ts';
import { makeSandboxPair } from '../../../../test/sandbox-pair.ts';
import { createVisitor, signedInVisitor } from '../../../../test/visitor.ts';
import { createTimes } from '../../../platform/web/format.ts';
import { noShares } from './decide.ts';
import type { FaultRow } from './repo.ts';
import { faultsCard } from './report-views.ts';
import { chaosPath } from './views.ts';

async function setup(t: TestContext) {
  const app = await buildApp(t);
  const pair = await makeSandboxPair(app.runtime);
  const visitor = await signedInVisitor(app, pair.developerId);
  const post = (key: string, name: string) =>
    app.http.inject({
      method: 'POST',
      url: '/v1/tips',
      headers: { ...pair.headers, 'idempotency-key': key },
      payload: { amount: 20, name },
    });
  return { ...app, chaos: app.runtime.chaos, pair, visitor, post, url: chaosPath(pair) };
}

const textOf = (html: string): string =>
  html
    .slice(html.indexOf('<main'))
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ');

test('a run is started, met, told in the list and the report, and switched off', async (t) => {
  const { visitor, chaos, pair, post, url, clock } = await setup(t);
  assert.match(textOf((await visitor.get(url)).body), /Chaos is off\./);
  const started = await visitor.post(`${url}/start`, { run: 'limits', seed: ' evening ' });
  assert.deepEqual([started.statusCode, started.headers.location], [303, url]);
  const settings = await chaos.of(pair);
  assert.deepEqual([settings?.enabled, settings?.run, settings?.seed], [1, 'limits', 'evening']);
  assert.match(textOf((await visitor.get(url)).body), /Chaos is on\..*Limits.*No call has come yet/s);

  const refused: string[] = [];
  for (let n = 1; n <= 20; n += 1) {
    clock.advance(6_000);
    if ((await post(`payment-${n}`, `TIP ${n}`)).statusCode === 429) refused.push(`payment-${n}`);
  }
  assert.ok(refused.length > 2);
  const stopped = await visitor.post(`${url}/stop`);
  assert.deepEqual([stopped.statusCode, stopped.headers.location], [303, `${url}#report`]);
  assert.equal((await chaos.of(pair))?.enabled, 0);
  const page = textOf((await visitor.get(url)).body);
  assert.match(page, /Your app lost something/);
  assert.match(page, new RegExp(`Never repeated ${refused.length} `));
  for (const key of refused) assert.ok(page.includes(key), key);
  assert.match(page, /rate_limited POST \/v1\/tips No\. \d+ req_/);
});

test('a revoked grant is told, and what was repeated rightly passes', async (t) => {
  const { visitor, chaos, pair, post, url } = await setup(t);
  await chaos.save(pair, 'seed', { upstream_failed: 1000 });
  await post('key', 'TIP');
  await chaos.stop(pair);
  await chaos.save(pair, 'seed', { ...noShares, revoked: 1000 });
  await post('key', 'TIP');
  const page = textOf((await visitor.get(url)).body);
  assert.match(page, /counts as revoked until you switch chaos off/);
  assert.match(page, /Nothing was lost, nothing was recorded twice/);
});

test('own shares are saved in percent; wrong ones keep what was typed', async (t) => {
  const { visitor, chaos, pair, url } = await setup(t);
  assert.equal((await visitor.post(url, { seed: 's', 'share.slow': '12.5', 'share.revoked': '1,5' })).statusCode, 303);
  assert.deepEqual(JSON.parse((await chaos.of(pair))?.shares ?? ''), { ...noShares, slow: 125, revoked: 15 });
  for (const fields of [
    { seed: 's', 'share.slow': '60', 'share.revoked': '40.1' },
    { seed: 's', 'share.slow': 'half' },
    { seed: 's', 'share.slow': '-1' },
    { seed: '', 'share.slow': '77' },
  ]) {
    const answer = await visitor.post(url, fields);
    assert.equal(answer.statusCode, 422);
    assert.match(answer.body, new RegExp(`name="share.slow"[^>]*value="${fields['share.slow']}"`));
  }
  assert.equal((await visitor.post(`${url}/start`, { run: 'limits', seed: '' })).statusCode, 422);
  assert.equal((await visitor.post(`${url}/start`, { run: 'no such run', seed: 's' })).statusCode, 404);
  assert.equal((await chaos.of(pair))?.run, null, 'nothing of it was saved');
});

test('the apps of the developer are listed; nothing of another developer is shown or changed', async (t) => {
  const { runtime, http, chaos, pair, visitor, url } = await setup(t);
  const list = `/developers/sandbox/${pair.creatorId}/chaos`;
  await chaos.start(pair, 'seed', 'bad_evening');
  assert.match(textOf((await visitor.get(list)).body), /App \d+ On/);
  const stranger = await makeCreator(runtime);
  const strangersApp = await makeApp(runtime, undefined, stranger.creatorId);
  const other = await signedInVisitor({ runtime, http }, stranger.creatorId);
  for (const path of [list, url, chaosPath({ ...pair, clientId: strangersApp.clientId })])
    assert.equal((await other.get(path)).statusCode, 404);
  for (const path of [`${url}/stop`, `${url}/start`, url])
    assert.equal((await other.post(path, { seed: 'x', run: 'limits' })).statusCode, 404);
  assert.equal((await visitor.get(chaosPath({ ...pair, clientId: strangersApp.clientId }))).statusCode, 404);
  assert.equal((await visitor.get(chaosPath({ ...pair, creatorId: pair.developerId }))).statusCode, 404);
  assert.equal((await createVisitor({ runtime, http }).get(url)).statusCode, 303);
  assert.equal((await chaos.of(pair))?.seed, 'seed');
});

test('the pages speak Thai', async (t) => {
  const { visitor, url } = await setup(t);
  const { body } = await visitor.get(url, { 'accept-language': 'th' });
  assert.match(body, /ความปั่นป่วนปิดอยู่.*คืนที่เลวร้าย/s);
});

test('security 41: pages with a report are shown 60 times a minute to a developer', async (t) => {
  const { visitor, url, clock } = await setup(t);
  for (let looks = 0; looks < 60; looks += 1) assert.equal((await visitor.get(url)).statusCode, 200);
  const refused = await visitor.get(url);
  assert.deepEqual([refused.statusCode, refused.headers['retry-after']], [429, '60']);
  clock.advance(60_000);
  assert.equal((await visitor.get(url)).statusCode, 200);
});

test('the rows of faults are made in turns with others: forty pages at once took 85 ms', async () => {
  const fault: FaultRow = {
    ...{ number: 1, n: 1, kind: 'slow', at: 0, subject: 'GET /v1/me' },
    ...{ request_id: 'req_1', key: 'k', repeated_n: null, tip_id: null },
  };
  let turns = 0;
  const pause = async () => {
    turns += 1;
  };
  const card = await faultsCard({ lang: 'en', times: createTimes('Asia/Bangkok') }, Array(100).fill(fault), pause);
  assert.equal(card.match(/GET \/v1\/me/g)?.length, 100);
  assert.equal(turns, 100);
});
