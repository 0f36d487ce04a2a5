import assert from 'node:assert/strict';
import { test } from 'node:test';
import { skipWithoutPrometheus } from '../prometheus.ts';
import { skipWithoutRedisServer } from '../redis.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { normalLoadText, runNormalLoad } from './alerts.ts';
import { smallSize } from './mixed.ts';
import { createScope } from './scope.ts';
import type { Shape } from './servers.ts';

/** The hour of `npm run proof -- alerts`, in seconds: it tests the proof itself. */
const shapes: [Shape, string, string | false][] = [
  ['process', 'one process', skipWithoutPrometheus],
  ['nodes', 'two nodes', skipWithoutPrometheus || skipWithoutRedisServer],
];
for (const [shape, where, skip] of shapes)
  test(`a short round of normal load against ${where}: no alert fires`, { skip }, async (t) => {
    const scope = createScope();
    t.after(scope.end);
    const report = await runNormalLoad({
      scope,
      shape,
      seconds: 5,
      directory: temporaryDirectory(t),
      pace: 0.3,
      size: smallSize,
      scrapeSeconds: 1,
      progress: () => {},
    });
    assert.deepEqual(report.broken, [], normalLoadText(report));
    assert.ok(report.rules >= 20 && report.tips > 0, normalLoadText(report));
  });
