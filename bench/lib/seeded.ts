import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench } from './bench.ts';
import { storeEnv } from './namjai.ts';
import { type SeededCreator, seedTips } from './seed-tips.ts';

const kept = new URL('../results/stores/', import.meta.url).pathname;

/** A store with many tips, made once and kept among the results, since the largest takes minutes. */
export async function seededStore(bench: Bench, { tips, creators }: { tips: number; creators: number }) {
  mkdirSync(kept, { recursive: true });
  const file = join(kept, `${tips}-tips-of-${creators}.db`);
  const list = `${file}.json`;
  if (!existsSync(list)) {
    for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
    const people = await seedTips({
      file,
      tips,
      creators,
      onProgress: (done) =>
        bench.progress(`seeding: ${Math.round((100 * done) / tips)} % of ${tips.toLocaleString('en')} tips`),
    });
    writeFileSync(`${list}.part`, JSON.stringify(people));
    renameSync(`${list}.part`, list);
  }
  const people: SeededCreator[] = JSON.parse(readFileSync(list, 'utf8'));
  return { file, env: storeEnv(`sqlite:${file}`), people };
}
