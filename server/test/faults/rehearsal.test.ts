import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { until } from '../../../sdk/test/until.ts';
import { storageSettings } from '../build-app.ts';
import { startCommand } from '../cli-process.ts';
import { makeCreator } from '../factories.ts';
import { makeManyTips } from '../many-tips.ts';
import { prepareNodes } from '../nodes.ts';
import { skipWithoutRedisServer } from '../redis.ts';
import { openRehearsalOverlay } from '../rehearsals.ts';
import { freePort, startServer } from '../server-process.ts';
import { sameIssuer, withStore } from '../store.ts';

/** A creator with an evening of ten minutes, a tip a second. */
const prepare = (env: Record<string, string>) =>
  withStore(env, async (runtime) => {
    const { creatorId, username } = await makeCreator(runtime, 'rehearser');
    await makeManyTips(runtime, creatorId, 600);
    return { creatorId, username, key: await runtime.overlays.key(creatorId) };
  });

const statusOf = (env: Record<string, string>, creatorId: string) =>
  withStore(env, async ({ rehearsals }) => (await rehearsals.current(creatorId))?.status);

test('by the command line: Ctrl-C stops it, and with the server’s death it ends', async (t) => {
  const env = { ...sameIssuer, ...(await storageSettings(t)) };
  const { creatorId, username, key } = await prepare(env);
  const port = await freePort();
  let server = await startServer({ env, port });
  t.after(() => server.kill());
  const page = await openRehearsalOverlay(t, new URL(server.url).host, key);
  const first = startCommand(t, env, 'rehearse', '--creator', username, '--pace', '2');
  await until('three alerts were played', () => page.alerts().length >= 3);
  assert.deepEqual(
    page.alerts().map(({ n, event }) => [n, event.data.tip.name]),
    page.alerts().map((_, index) => [index + 1, `TIP ${index + 1}`]),
  );
  const second = startCommand(t, env, 'rehearse', '--creator', username);
  assert.equal((await second.error()).code, 'rehearsal_another');
  await first.stop();
  const { status, total } = await first.line();
  assert.deepEqual({ status, total }, { status: 'stopped', total: 600 });
  await until('the overlay is told', () => page.status() === 'stopped');

  const third = startCommand(t, env, 'rehearse', '--creator', username, '--pace', '1');
  await until('the next plays', () => page.status() === 'playing');
  await server.kill();
  server = await startServer({ env, port });
  assert.equal((await third.error()).code, 'rehearsal_ended');
  assert.equal(await third.exit, 1);
  assert.equal(await statusOf(env, creatorId), 'ended');
  const state = await fetch(`${server.url}/overlay/${key}/state`);
  assert.equal(((await state.json()) as { rehearsal: { status: string } }).rehearsal.status, 'ended');
});

describe('two nodes', { skip: skipWithoutRedisServer }, () => {
  test('what one plays the overlays of the other show; with the node’s death it ends', async (t) => {
    const nodes = await prepareNodes(t, 2);
    const { creatorId, key } = await prepare(nodes.env);
    await nodes.start(0);
    const started = await withStore(nodes.env, async ({ rehearsals }) => {
      const [evening] = await rehearsals.evenings(creatorId);
      assert.ok(evening);
      return rehearsals.start(creatorId, evening, 1);
    });
    assert.ok(typeof started === 'object');
    await until('the only node plays it', async () => (await statusOf(nodes.env, creatorId)) === 'playing');
    await nodes.start(1);
    const page = await openRehearsalOverlay(t, new URL(nodes.urls[1] ?? '').host, key);
    await until('the other’s overlay shows it', () => page.alerts().length >= 3);
    const [first] = page.alerts();
    assert.deepEqual(
      page.alerts().map(({ n }) => n),
      page.alerts().map((_, index) => (first?.n ?? 0) + index),
      'in order, each once',
    );
    await nodes.node(0).kill();
    await until('it has ended, and the overlay is told', () => page.status() === 'ended');
    assert.equal(await statusOf(nodes.env, creatorId), 'ended');
    const { length } = page.alerts();
    const again = await withStore(nodes.env, ({ rehearsals }) =>
      rehearsals.start(creatorId, { from: started.from_at, to: started.to_at }, 100),
    );
    assert.ok(typeof again === 'object');
    await until('the node that is left plays the next', () => page.alerts().length > length);
    await nodes.redis.stop();
    await until('without Redis too, by polling', () => page.alerts().length > length + 200);
  });
});
