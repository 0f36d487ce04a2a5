import assert from 'node:assert/strict';
import { test } from 'node:test';
import { skip } from '../browser/launch.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { overlayText, runOverlay } from './overlay.ts';
import { createScope } from './scope.ts';

/** The hour of `npm run proof -- overlay`, in seconds: alerts leave no node and no listener behind. */
test('a short round of alerts of all kinds: the overlay page and the widgets stay as they were', {
  skip,
}, async (t) => {
  const scope = createScope();
  t.after(scope.end);
  const report = await runOverlay({
    scope,
    directory: temporaryDirectory(t),
    samples: 6,
    alerts: 4,
    paceMs: 0,
    seconds: 0.05,
    progress: () => {},
  });
  t.diagnostic(overlayText(report));
  assert.deepEqual(report.broken, [], overlayText(report));
  const judged = report.pages.flatMap(({ growth }) => growth.filter(({ verdict }) => verdict === 'flat'));
  assert.equal(judged.length, 3 * report.pages.length, 'nodes, listeners and documents of every page');
});
