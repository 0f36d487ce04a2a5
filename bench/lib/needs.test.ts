import assert from 'node:assert/strict';
import { test } from 'node:test';
import { missing } from './needs.ts';

test('a row that needs what is not here says what that is', (t) => {
  const { PATH } = process.env;
  t.after(() => {
    process.env.PATH = PATH;
    Object.defineProperty(process, 'arch', { value: arch });
  });
  const { arch } = process;
  assert.equal(missing([]), undefined);
  process.env.PATH = '/nowhere';
  assert.equal(missing(['redis']), 'Redis (the program redis-server)');
  Object.defineProperty(process, 'arch', { value: 'none' });
  assert.match(missing(['postgres', 'redis']) ?? '', /^PostgreSQL \(.*\) and Redis \(the program redis-server\)$/);
});
