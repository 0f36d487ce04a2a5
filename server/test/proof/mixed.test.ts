import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seed } from '../../../sdk/test/seeded.ts';
import { skipWithoutRedisServer } from '../redis.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { runMixed, smallSize } from './mixed.ts';
import { reportText } from './report.ts';
import { createScope } from './scope.ts';
import type { Shape } from './servers.ts';

/** The hour of `npm run proof -- mixed`, in seconds: it tests the proof itself. */
const shapes: [Shape, string, string | false][] = [
  ['process', 'one process', false],
  ['nodes', 'two nodes', skipWithoutRedisServer],
];
for (const [shape, where, skip] of shapes)
  test(`a short round of mixed hostile and honest load against ${where}: nothing fails, is lost or doubled (TEST_SEED=${seed})`, {
    skip,
  }, async (t) => {
    const scope = createScope();
    t.after(scope.end);
    const report = await runMixed({
      scope,
      shape,
      seconds: 9,
      directory: temporaryDirectory(t),
      seed,
      pace: 0.3,
      size: smallSize,
      leastShare: 0,
      progress: () => {},
    });
    assert.deepEqual(report.broken, [], reportText(report));
    assert.ok(Object.keys(report.attacks).length >= 21, 'every attack had a turn');
    assert.ok(report.counts.tips > 10 && report.counts.webhooks >= 2 * report.counts.events, reportText(report));
  });
