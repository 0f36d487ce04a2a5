/** Runs the tests given as arguments on the program's other shape: one PostgreSQL and one Redis serve them all. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { startPostgres } from './postgres.ts';
import { openTestRedis, skipWithoutRedis } from './redis.ts';

if (skipWithoutRedis) {
  console.log(`ℹ tests on PostgreSQL and Redis skipped: ${skipWithoutRedis}`);
} else {
  const given = process.env.DATABASE_URL;
  const postgres = given?.startsWith('postgres') ? undefined : await startPostgres();
  const redis = await openTestRedis();
  const env = {
    ...process.env,
    TEST_SHAPE: 'nodes',
    DATABASE_URL: postgres?.url('postgres') ?? given,
    REDIS_URL: redis.url,
  };
  const child = spawn(process.execPath, ['--test', '--test-concurrency=2', ...process.argv.slice(2)], {
    stdio: 'inherit',
    env,
  });
  const [code] = await once(child, 'exit');
  await redis.stop();
  await postgres?.end();
  process.exitCode = code ?? 1;
}
