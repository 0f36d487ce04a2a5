import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { createDestroyer } from './destroyer.ts';

test('sockets that are due together are destroyed one in an iteration of the event loop', async () => {
  const destroyInTurn = createDestroyer();
  let destroyed = 0;
  const counts: number[] = [];
  const socket = {
    destroy() {
      destroyed += 1;
    },
  };
  for (let n = 0; n < 3; n++) destroyInTurn(socket);
  while (destroyed < 3) {
    counts.push(destroyed);
    await nextIteration();
  }
  destroyInTurn(socket);
  await nextIteration();
  assert.deepEqual([...counts, destroyed], [0, 1, 2, 4]);
});
