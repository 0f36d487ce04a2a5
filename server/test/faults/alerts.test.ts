/**
 * Each alert rule of `ops/prometheus` fires at real servers, scraped by a real Prometheus, when its fault is caused.
 * Conditions and thresholds are those of the file; the times of the rules are shorter (`quickRules`). Two shapes run
 * beside each other: one process on SQLite, and nodes on PostgreSQL and Redis. Every rule is the proof `alert-faults`,
 * since it needs a machine that keeps up with Prometheus; `npm test` has two of them. That the rules are silent under
 * normal load, with their own times, is the proof `alerts`.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import { rounds } from '../../../sdk/test/rounds.ts';
import { until } from '../../../sdk/test/until.ts';
import * as faults from '../alert-faults.ts';
import { type Embedded, type StartedNodes, startEmbedded, startNodes } from '../alert-servers.ts';
import { type WatchedAlerts, watchAlerts } from '../alert-watch.ts';
import { recordTips } from '../many-tips.ts';
import { type Prometheus, quickRules, skipWithoutPrometheus, startPrometheus } from '../prometheus.ts';
import { labelsIn, selectorsIn } from '../promql.ts';
import { skipWithoutRedisServer } from '../redis.ts';
import { startServer } from '../server-process.ts';
import { fillDisk, needsMount } from '../small-disk.ts';
import { withStore } from '../store.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

const dashboardFile = new URL('../../../ops/grafana/namjai.json', import.meta.url);

/** These depend on what was done to the server, and not on how busy this machine is. */
const steady = [
  'NamjaiBug',
  'NamjaiClockWrong',
  'NamjaiCopyOld',
  'NamjaiFilesRunOut',
  'NamjaiHousekeepingFails',
  'NamjaiNodeRestarts',
  'NamjaiRequestsFail',
  'NamjaiWalGrows',
  'NamjaiWebhooksFail',
  'NamjaiWebhooksLate',
];

const skip = skipWithoutPrometheus || skipWithoutRedisServer || needsMount.skip;

test('every alert rule fires when its fault is caused', { skip, concurrency: 4 }, async (t) => {
  const embedded = await startEmbedded(t);
  const nodes = await startNodes(t);
  const targets = [embedded.target, nodes.target, nodes.otherTarget];
  const directory = temporaryDirectory(t);
  const prometheus = await startPrometheus(t, { directory, targets, rules: quickRules(), everySeconds: 2 });
  const fired = new Set<string>();
  const watched = watchAlerts(prometheus, fired);

  await t.test('none of those that do not depend on the machine is active before', async () => {
    // So that there is a request that a limit has refused.
    const refused = async () => (await fetch(`${embedded.url}/v1/me`, embedded.pairs[3])).status === 429;
    await until('a limit is reached', refused);
    const scrapedOften = `count_over_time(up{instance!="${nodes.otherTarget}"}[60s]) >= 4`;
    await until('both were scraped', async () => (await prometheus.query(scrapedOften)).length === 2);
    const copied = 'namjai_backup_last_success_timestamp_seconds > 0';
    await until('a copy is made', async () => (await prometheus.query(copied)).length === 1);
    const compared = 'count by (of) (namjai_clock_offset_seconds)';
    await until('clocks are compared', async () => (await prometheus.query(compared)).length === 2);
    let active: string[] = [];
    await until(
      () => `none of them is active: ${active.join(', ')}`,
      async () => {
        const names = (await prometheus.alerts()).map(({ labels }) => labels.alertname ?? '');
        active = names.filter((name) => steady.includes(name));
        return active.length === 0;
      },
    );
    for (const { name, health, lastError } of await prometheus.rules())
      assert.equal(health, 'ok', `${name}: ${lastError}`);
  });
  const all = rounds(0) > 0;
  if (all) {
    await Promise.all([faultsOfOne(t, embedded, watched), faultsOfNodes(t, nodes, watched)]);
    await t.test('no rule was left out', async () => {
      const names = (await prometheus.rules()).map(({ name }) => name);
      assert.deepEqual([...fired].sort(), names.sort());
    });
  } else {
    await t.test('a bug, in short', () => bug(embedded, watched));
    await t.test('a process that is gone, in short', async () => {
      await embedded.kill();
      await watched.fires('NamjaiNodeDown', { instance: embedded.target });
    });
  }
  await t.test('what the rules and the dashboard name exists in what servers of either shape serve', () =>
    checkNames(prometheus),
  );
});

async function faultsOfOne(t: TestContext, server: Embedded, { fires, prometheus }: WatchedAlerts): Promise<void> {
  const { env, file, url, port, pairs, target: instance } = server;
  // Prepared before other faults, which would keep this process, too, from writing.
  const receiver = await faults.startSlowReceiver(1_000, 3_000);
  t.after(receiver.end);
  await withStore(env, (runtime) => faults.sendWebhooks(runtime, pairs[0]!, receiver.url, 1_100));
  const ahead = (): number => Date.now() + 600_000;
  await withStore(env, (runtime) => recordTips({ runtime }, pairs[1]!.creatorId, 1), { clock: ahead });
  const inBackground = Promise.all([
    t.test('webhooks late: a receiver that was down answers more slowly than it should', () =>
      fires('NamjaiWebhooksLate'),
    ),
    t.test('clock: a record was made while the clock was ahead', () =>
      fires('NamjaiClockWrong', { instance, of: 'newest_record' }),
    ),
    t.test('copies: their disk is full, then their folder is gone', async () => {
      fillDisk(join(server.disk, 'filler'));
      await fires('NamjaiDiskFilling', { instance, of: 'copies' });
      const old = new Date(Date.now() - 3 * 3_600_000).toISOString().replaceAll(/[:.]/g, '-');
      for (const name of readdirSync(server.copies).filter((each) => each.startsWith('namjai-')))
        renameSync(join(server.copies, name), join(server.copies, `namjai-${old}.db`));
      await fires('NamjaiCopyOld', { instance });
      renameSync(server.copies, `${server.copies}-before`);
      writeFileSync(server.copies, '');
      await fires('NamjaiHousekeepingFails', { instance, task: 'copy the database' });
      // Mended, since a server does not start without its folder.
      rmSync(server.copies);
      rmSync(join(server.disk, 'filler'));
      renameSync(`${server.copies}-before`, server.copies);
    }),
  ]);
  await t.test('slow: another program locks the database for a second and a half, again and again', async (t) => {
    t.after(faults.keepPostingTips(url, pairs, 8));
    t.after(faults.lockAgainAndAgain(file, 1_500));
    await Promise.all([fires('NamjaiSlowAnswers', { instance }), fires('NamjaiSlowWrites', { instance })]);
  });
  await t.test('storage away: another program locks the database for long', async (t) => {
    t.after(faults.keepPostingTips(url, pairs, 8));
    t.after(faults.lockAgainAndAgain(file, 7_000));
    await Promise.all([fires('NamjaiRequestsFail', { instance }), fires('NamjaiStorageAway', { instance })]);
  });
  const endRead = await faults.growLog(file, 300 * 1024 * 1024);
  const log = t.test('log: a read that does not end keeps it from being emptied', async () => {
    await fires('NamjaiWalGrows', { instance });
    await endRead();
  });
  await t.test('passwords: many guess at once', async (t) => {
    t.after(await faults.guessPasswords(url, env.AUTH_URL, 100));
    await fires('NamjaiPasswordQueue', { instance });
  });
  await t.test('event loop: the machine has no time for the server', async (t) => {
    t.after(faults.stutter(server, 500, 300));
    await fires('NamjaiEventLoopBlocked', { instance });
  });
  await t.test('files: connections use them up', async (t) => {
    t.after(faults.openConnections(port, 400));
    await fires('NamjaiFilesRunOut', { instance });
  });
  await Promise.all([inBackground, log]);
  await t.test('bug: a table is missing', () => bug(server, { fires }));
  await t.test('restarts: the process dies again and again, and then for good', async () => {
    let firing = false;
    const fired = fires('NamjaiNodeRestarts', { instance }).finally(() => {
      firing = true;
    });
    const startTime = async () => {
      const [sample] = await prometheus.query(`process_start_time_seconds{instance="${instance}"}`);
      return sample?.value[1];
    };
    const restart = async (): Promise<void> => {
      while (!firing) {
        const before = await startTime();
        await server.restart();
        // Two starts in the same second cannot be told apart.
        const scraped = async () => ![before, undefined].includes(await startTime());
        await until('the new process is scraped', scraped, 5_000).catch(() => {});
      }
    };
    await Promise.all([fired, restart()]);
    await server.kill();
    await fires('NamjaiNodeDown', { instance });
  });
}

async function bug({ file, url, pairs, target }: Embedded, { fires }: Pick<WatchedAlerts, 'fires'>): Promise<void> {
  const db = new DatabaseSync(file, { timeout: 30_000 });
  db.exec('DROP TABLE goals');
  db.close();
  const answer = await fetch(`${url}/v1/goals`, { headers: pairs[2]!.headers });
  assert.equal(answer.status, 500);
  await fires('NamjaiBug', { instance: target });
}

async function faultsOfNodes(
  t: TestContext,
  nodes: StartedNodes,
  { fires, waitUntilResolved }: WatchedAlerts,
): Promise<void> {
  const { env, url, pairs, postgres, redis, target: instance } = nodes;
  const inBackground = t.test('clock: a node’s own is ten minutes ahead', async (t) => {
    const ahead = 'const now = Date.now; Date.now = () => now() + 600_000;';
    const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(ahead)}`;
    const other = await startServer({ env: { ...env, NODE_OPTIONS, METRICS_PORT: String(nodes.otherPort) } });
    t.after(() => other.kill());
    await fires('NamjaiClockWrong', { instance: nodes.otherTarget, of: 'database' });
  });
  await t.test('webhooks fail: nobody listens at the receiver', async () => {
    await withStore(env, (runtime) => faults.sendWebhooks(runtime, pairs[0]!, 'http://127.0.0.1:1024/hook', 60));
    await fires('NamjaiWebhooksFail');
  });
  await t.test('hub: Redis answers in fits and starts', async (t) => {
    t.after(faults.stutter(redis, 2_000, 200));
    t.after(faults.read(url, '/v1/me', pairs, 4));
    await Promise.all([fires('NamjaiHubSlow', { instance }), fires('NamjaiLimitsPerNode', { instance })]);
  });
  await t.test('Redis is stopped', async () => {
    await waitUntilResolved('NamjaiRedisAway');
    await redis.kill();
    await fires('NamjaiRedisAway', { instance });
    await redis.restart();
  });
  await t.test('pool: a table is locked', async (t) => {
    const client = new pg.Client({ connectionString: postgres.url('postgres') });
    client.on('error', () => {});
    await client.connect();
    t.after(() => client.end());
    t.after(faults.read(url, '/v1/tips', pairs, 48));
    await client.query('BEGIN; LOCK TABLE tips IN ACCESS EXCLUSIVE MODE');
    await fires('NamjaiPoolWaits', { instance });
  });
  await inBackground;
  await t.test('PostgreSQL is stopped', async (t) => {
    t.after(faults.read(url, '/v1/me', pairs, 4));
    await postgres.stop();
    await Promise.all([fires('NamjaiStorageAway', { instance }), fires('NamjaiRequestsFail', { instance })]);
  });
}

async function checkNames(prometheus: Prometheus): Promise<void> {
  const dashboard = JSON.parse(readFileSync(dashboardFile, 'utf8')) as {
    panels: { title: string; targets?: { expr: string; legendFormat?: string }[] }[];
  };
  const expressions = [
    ...(await prometheus.rules()).map(({ name, query, annotations }) => ({
      name,
      text: query,
      words: annotations.summary ?? '',
    })),
    ...dashboard.panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr, legendFormat = '' }) => ({ name: title, text: expr, words: legendFormat })),
    ),
  ];
  for (const { name, text, words } of expressions) {
    const selectors = selectorsIn(text);
    assert.ok(selectors.length > 0, `${name} names no metric: ${text}`);
    const labels = new Set<string>();
    for (const selector of selectors) {
      const series = await prometheus.series(selector);
      assert.ok(series.length > 0, `${name}: nothing is served for ${selector}`);
      for (const each of series) for (const label of Object.keys(each)) labels.add(label);
    }
    for (const label of labelsIn(text, words)) assert.ok(labels.has(label), `${name}: no metric of it has ${label}`);
  }
}
