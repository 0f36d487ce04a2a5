import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeError, Failure } from './errors.ts';

test('a mistake of the program says how to find it, and with LOG_LEVEL=debug where it happened', () => {
  const mistake = new TypeError('x is undefined');
  assert.deepEqual(describeError(mistake, false), {
    code: 'failed',
    lines: ['x is undefined'],
    trace: ['This is a mistake in the program. LOG_LEVEL=debug shows where.'],
  });
  assert.match(describeError(mistake, true).trace.join('\n'), /errors\.test\.ts/);
});

test('what the caller can mend has no stack', () => {
  for (const debug of [false, true])
    assert.deepEqual(describeError(new Failure('creator_unknown', 'There is none.'), debug), {
      code: 'creator_unknown',
      lines: ['There is none.'],
      trace: [],
    });
  assert.deepEqual(describeError(new Error('connect ECONNREFUSED'), false).trace, []);
});
