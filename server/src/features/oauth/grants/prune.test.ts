import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { assertBelow } from '../../../../test/assert-below.ts';
import { buildApp } from '../../../../test/build-app.ts';
import { makeCreator } from '../../../../test/factories.ts';
import {
  approve,
  assertRefused,
  callMe,
  connect,
  exchange,
  introspect,
  parties,
  refresh,
  revoke,
  tokensOf,
} from '../../../../test/oauth.ts';
import { execute, executeAll } from '../../../../test/sql.ts';
import { hashSecret, newSecret } from '../../../platform/secrets.ts';
import { newRefreshToken, refreshKey } from './refresh-tokens.ts';

const day = 86_400_000;
type Row = { family_id: string };

async function setup(t: TestContext) {
  const app = await buildApp(t);
  const { db, grants } = app.runtime;
  const { creator, client } = await parties(app);
  const count = async (table: string) =>
    Number((await db.get<{ n: number }>(`SELECT count(*) AS n FROM ${table}`))?.n ?? 0);
  const prune = async () => {
    await grants.pruneTokens();
    await grants.pruneEnded();
    await grants.pruneCodes();
    await grants.pruneApps();
  };
  return { ...app, app, db, grants, creator, client, count, prune };
}

test('a year of refreshes keeps a month of tokens, and a reuse within it still ends the family', async (t) => {
  const { http, app, clock, creator, client, count, prune } = await setup(t);
  const first = await connect(app, creator, client);
  const history = [first];
  let most = 0;
  for (let passed = 3; passed < 360; passed += 3) {
    clock.advance(3 * day);
    history.push(tokensOf(await refresh(http, client, history.at(-1)?.refresh_token ?? '')));
    if (passed % 9 === 0) await prune();
    most = Math.max(most, await count('refresh_tokens'));
  }
  assert.ok(most <= 15, `${most} tokens`);
  assert.equal(await count('families'), 1);
  const newest = history.at(-1) ?? first;
  // Deleted: refused, and ends nothing.
  assertRefused(await refresh(http, client, first.refresh_token), 400, 'invalid_grant');
  assert.equal((await callMe(http, newest.access_token)).statusCode, 200);
  assert.deepEqual((await introspect(http, client, newest.refresh_token)).json().active, true);
  assertRefused(await refresh(http, client, history.at(-10)?.refresh_token ?? ''), 400, 'invalid_grant');
  assert.equal((await callMe(http, newest.access_token)).json().error.code, 'grant_unusable');
  assertRefused(await refresh(http, client, newest.refresh_token), 400, 'invalid_grant');
  // The chain lost its first tokens and is still found to its last one.
  clock.advance(31 * day);
  await prune();
  assert.deepEqual([await count('refresh_tokens'), await count('families')], [0, 0]);
  assert.equal(await count('authorization_codes'), 0);
});

test('an idle family goes 30 days after its token expired, an ended one 30 days after its end, others stay', async (t) => {
  const { http, app, clock, creator, client, count, prune } = await setup(t);
  const idle = await connect(app, creator, client);
  const ended = await connect(app, creator, client);
  const rotated = tokensOf(await refresh(http, client, ended.refresh_token));
  clock.advance(60_000);
  assertRefused(await refresh(http, client, ended.refresh_token), 400, 'invalid_grant');
  let live = await connect(app, creator, client);
  const code = await approve(app.runtime, creator, client);
  clock.advance(30 * day - 1);
  await prune();
  assert.equal(await count('families'), 3);
  live = tokensOf(await refresh(http, client, live.refresh_token));
  clock.advance(2);
  await prune();
  assert.equal(await count('families'), 2);
  assertRefused(await refresh(http, client, rotated.refresh_token), 400, 'invalid_grant');
  assert.equal((await callMe(http, live.access_token)).statusCode, 200);
  assertRefused(await exchange(http, client, code), 400, 'invalid_grant');
  clock.advance(60 * day - 60_002);
  live = tokensOf(await refresh(http, client, live.refresh_token));
  await prune();
  assert.equal(await count('families'), 2, 'expired just now');
  clock.advance(30 * day + 60_001);
  await prune();
  assert.equal(await count('families'), 1);
  assertRefused(await refresh(http, client, idle.refresh_token), 400, 'invalid_grant');
  tokensOf(await refresh(http, client, live.refresh_token));
});

test('long chains are removed in pieces, also one that begins with a token of the older form', async (t) => {
  const { http, app, db, clock, creator, client, count, prune, grants } = await setup(t);
  const { refresh_token } = await connect(app, creator, client);
  const old = newSecret('njr');
  await execute(db, 'UPDATE refresh_tokens SET hash = $2 WHERE hash = $1', [
    refreshKey(refresh_token),
    hashSecret(old),
  ]);
  const { refresh_token: token } = tokensOf(await refresh(http, client, old));
  // 1,202 more between the two, as that many refreshes would have made them.
  const row = await db.get<Row>('SELECT * FROM refresh_tokens WHERE hash = $1', [refreshKey(token)]);
  const keys = Array.from({ length: 1202 }, () => newRefreshToken(clock()).key);
  const chain = [hashSecret(old), ...keys, refreshKey(token)];
  await executeAll(
    db,
    ['UPDATE refresh_tokens SET successor_hash = $2 WHERE hash = $1', [hashSecret(old), keys[0] ?? '']],
    ['UPDATE refresh_tokens SET parent_hash = $2 WHERE hash = $1', [refreshKey(token), keys.at(-1) ?? '']],
    ...keys.map(
      (key, i) =>
        [
          `INSERT INTO refresh_tokens (hash, creator_id, family_id, parent_hash, created_at, expires_at, used_at, successor_hash)
           VALUES ($1, $2, $3, $4, $5, $6, $5, $7)`,
          [key, creator.creatorId, row?.family_id ?? '', chain[i] ?? '', clock(), clock() + day, chain[i + 2] ?? ''],
        ] as const,
    ),
  );
  const other = await connect(app, creator, client);
  assert.equal(await count('refresh_tokens'), 1205);
  assert.equal((await revoke(http, client, token)).statusCode, 200);
  clock.advance(31 * day);
  await grants.pruneEnded();
  assert.deepEqual([await count('refresh_tokens'), await count('families'), await count('grants')], [0, 0, 0]);
  assertRefused(await refresh(http, client, other.refresh_token), 400, 'invalid_grant');
  await prune();
});

test('of ended grants one is kept for each app that acted for a creator, and none that never did', async (t) => {
  const { http, app, runtime, clock, creator, client, count, prune, grants } = await setup(t);
  for (let round = 0; round < 5; round++) {
    const { access_token } = await connect(app, creator, client);
    if (round % 2 === 0) assert.equal((await callMe(http, access_token)).statusCode, 200);
    await runtime.lastUsed.flush();
    await grants.revoke(creator.creatorId, client.clientId, 'creator');
    clock.advance(60_000);
  }
  assert.equal(await count('grants'), 5);
  clock.advance(30 * day);
  await prune();
  assert.equal(await count('grants'), 1);
  assert.deepEqual(
    (await grants.appsEver(creator.creatorId)).map(({ id }) => id),
    [client.clientId],
  );
});

test('the row of a deleted app goes at once if nobody connected it, after 30 days unless it acted for somebody', async (t) => {
  const { http, app, runtime, clock, creator, count, prune, grants } = await setup(t);
  const add = () =>
    runtime.apps.add({ name: 'Goal Bot', redirectUris: ['https://app.example/callback'], ownerId: creator.creatorId });
  const before = await count('apps');
  for (let round = 0; round < 30; round++) assert.ok(await grants.deleteApp(creator.creatorId, (await add()).clientId));
  assert.equal(await count('apps'), before);
  const idle = await add();
  await connect(app, creator, idle);
  await grants.deleteApp(creator.creatorId, idle.clientId);
  const acted = await add();
  await callMe(http, (await connect(app, creator, acted)).access_token);
  await runtime.lastUsed.flush();
  await runtime.webhooks.add(acted.clientId, { url: 'https://hooks.example/', types: null, description: null });
  await grants.deleteApp(creator.creatorId, acted.clientId);
  clock.advance(29 * day);
  await prune();
  assert.equal(await count('apps'), before + 2);
  clock.advance(2 * day);
  await prune();
  await runtime.webhooks.prune();
  assert.equal(await count('apps'), before + 1);
  assert.equal(await count('webhook_endpoints'), 0);
});

/** Rows with the numbers from 1 on, each of which is `i` in what is selected. */
const numbered = (into: string, count: number, selected: string): string =>
  `INSERT INTO ${into} WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < ${count})
   SELECT ${selected} FROM numbers`;

test('whoever deletes the families of an account is called between two of them, to renew a lease', async (t) => {
  const { app, grants, creator, client, count } = await setup(t);
  for (let i = 0; i < 3; i++) await connect(app, creator, client);
  const before = await count('families');
  const left: number[] = [];
  await grants.deleteFamiliesOf(creator.creatorId, async () => void left.push(await count('families')));
  assert.deepEqual(
    left,
    Array.from({ length: before }, (_, i) => before - 1 - i),
  );
});

test('an ended grant is pruned as quickly beside thousands of others of its creator', async (t) => {
  const { app, db, clock, client, count, prune } = await setup(t);
  const make = async (creatorId: string, grants: number, endedAt: number) => {
    const [id, family] = [`'grt_${endedAt}_' || i`, `'fam_${endedAt}_' || i`];
    const columns = 'grants (creator_id, id, client_id, scope, created_at, ended_at)';
    await execute(db, numbered(columns, grants, `'${creatorId}', ${id}, '${client.clientId}', '', 0, ${endedAt}`));
    await execute(db, numbered('grant_uses (creator_id, grant_id, used_at)', grants, `'${creatorId}', ${id}, 0`));
    const code = `authorization_codes
      (creator_id, hash, client_id, grant_id, scope, redirect_uri, created_at, expires_at, used_at, family_id)`;
    const values = `'${creatorId}', ${id}, '${client.clientId}', ${id}, '', '', 0, 0, 0, ${family}`;
    await execute(db, numbered(code, grants, values));
    const families = 'families (creator_id, id, grant_id, scope, created_at, expires_at, ended_at)';
    await execute(db, numbered(families, grants, `'${creatorId}', ${family}, ${id}, '', 0, 0, ${endedAt}`));
  };
  /** Returns how long processors were busy. */
  const pruneFifty = async (creatorId: string): Promise<number> => {
    await make(creatorId, 50, clock() - 31 * day);
    const before = process.cpuUsage();
    await prune();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  };
  const few = await pruneFifty((await makeCreator(app.runtime)).creatorId);
  const { creatorId } = await makeCreator(app.runtime);
  await make(creatorId, 20_000, clock() - day);
  await assertBelow('ms beside others', 3 * few + 50, () => pruneFifty(creatorId));
  assert.equal(await count('grants'), 20_002, 'one is kept of each creator');
  assert.equal(await count('authorization_codes'), 20_000, 'a used code goes with its family');
});

test('of the apps that a creator ever connected the latest are listed, live ones and others', async (t) => {
  const { db, grants, creator } = await setup(t);
  for (const [name, endedAt] of [
    ['a', 'NULL'],
    ['b', '1'],
  ]) {
    const id = `'app_${name}' || (1000 + i)`;
    const apps = 'apps (id, name, redirect_uris, secret_hash, created_at)';
    await execute(db, numbered(apps, 300, `${id}, 'Goal Bot', '[]', '', 0`));
    const columns = 'grants (creator_id, id, client_id, scope, created_at, ended_at)';
    const values = `'${creator.creatorId}', 'grt_${name}' || i, ${id}, '', 0, ${endedAt}`;
    await execute(db, numbered(columns, 300, values));
  }
  const listed = (await grants.appsEver(creator.creatorId)).map(({ id }) => id);
  const latest = (name: string) => Array.from({ length: 200 }, (_, i) => `app_${name}${1101 + i}`);
  assert.deepEqual(listed, [...latest('a'), ...latest('b')]);
});

test('thousands of deleted apps are read a batch at a time', async (t) => {
  const { db, clock, grants, creator, count } = await setup(t);
  const before = await count('apps');
  const apps = 'apps (id, name, redirect_uris, secret_hash, created_at, deleted_at)';
  await execute(db, numbered(apps, 3_000, `'app_' || (10000 + i), 'Goal Bot', '[]', '', 0, i / 2 + 1`));
  const columns = 'grants (creator_id, id, client_id, scope, created_at, ended_at)';
  const values = `'${creator.creatorId}', 'grt_' || i, 'app_' || (10000 + i), '', 0, CASE WHEN i < 2999 THEN 1 END`;
  await execute(db, numbered(columns, 2_999, values));
  const iterationsOf = async (work: Promise<void>): Promise<number> => {
    let [iterations, done] = [0, false];
    void work.finally(() => (done = true));
    for (; !done; iterations += 1) await nextIteration();
    await work;
    return iterations;
  };
  clock.advance(31 * day);
  assert.ok((await iterationsOf(grants.endGrantsOfDeletedApps())) >= 6);
  const live = 'SELECT count(*) AS n FROM grants WHERE ended_at IS NULL';
  assert.equal(Number((await db.get<{ n: number }>(live))?.n), 0, 'the one that was left has ended');
  assert.ok((await iterationsOf(grants.pruneApps())) >= 6);
  assert.equal(await count('apps'), before + 2_999, 'the one that nobody connected is deleted');
});
