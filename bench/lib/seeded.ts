import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { progressText } from '../../server/src/cli/progress.ts';
import { migrations } from '../../server/src/platform/db/migrations/index.ts';
import type { Bench } from './bench.ts';
import { storeEnv } from './namjai.ts';
import { type SeededCreator, seedTips } from './seed-tips.ts';

/** Databases that take long to create are cached here between runs. The folder can be deleted at any time. */
const kept = new URL('../results/stores/', import.meta.url);

const schema = createHash('sha256').update(JSON.stringify(migrations)).digest('hex').slice(0, 8);

/** A store with many tips, made when it is first needed, or when the tables are no longer what they were. */
export async function seededStore(bench: Bench, { tips, creators }: { tips: number; creators: number }) {
  mkdirSync(kept, { recursive: true });
  const name = `${tips}-tips-of-${creators}`;
  const file = fileURLToPath(new URL(`${name}-${schema}.db`, kept));
  if (!existsSync(file)) {
    for (const old of readdirSync(kept)) if (old.startsWith(`${name}-`)) rmSync(new URL(old, kept));
    const begun = performance.now();
    const stop = new AbortController();
    const seeding = seedTips({
      file,
      tips,
      creators,
      signal: stop.signal,
      onProgress: (done) =>
        bench.progress(`seeding ${progressText({ done, total: tips, unit: 'tips' }, performance.now() - begun)}`),
    });
    // Removes the unfinished file when it is interrupted.
    bench.after(async () => {
      stop.abort();
      await seeding.catch(() => {});
    });
    await seeding;
  }
  bench.after(() => forgetApps(file));
  return { file, env: storeEnv(`sqlite:${file}`), people: peopleOf(file) };
}

/** Eleven creators with 100,000 tips each, or with so many. */
export const longHistories = (bench: Bench, each = bench.short ? 1_000 : 100_000) =>
  seededStore(bench, { tips: 11 * each, creators: 11 });

function peopleOf(file: string): SeededCreator[] {
  const db = new DatabaseSync(file);
  const rows = db.prepare(`SELECT id, username FROM creators ORDER BY id`).all();
  db.close();
  return rows.map(({ id, username }) => ({ creatorId: String(id), username: String(username) }));
}

/** Each run adds apps, tokens and sessions: without this a cached database would grow with every run. */
function forgetApps(file: string): void {
  const db = new DatabaseSync(file);
  db.exec(
    `DELETE FROM refresh_tokens; DELETE FROM families; DELETE FROM grants; DELETE FROM apps; DELETE FROM sessions`,
  );
  db.close();
}
