/**
 * Fills a new store with tips, straight into its tables. Afterwards everything is as if the tips had been recorded:
 * sequences without gaps, totals and months right, and the history in order of time with all creators mixed.
 *
 * - That order is also the quick one: the table and the index by id grow at their ends, the index by creator at one
 *   page a creator, so that no page is read back.
 * - The store is made beside its place and moved there once it is whole and checked: a store that stands where it
 *   belongs is complete, whatever happened.
 * - Without `events` these are left out, as they are once they are older than 30 days.
 */
import { existsSync, renameSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { toTip } from '../../server/src/features/tips/repo.ts';
import { toTimestamp } from '../../server/src/platform/clock.ts';
import { createIds } from '../../server/src/platform/ids.ts';
import { createZone, type Zone } from '../../server/src/platform/zone.ts';
import { makeApp, makeCreator } from '../../server/test/factories.ts';
import { withStore } from '../../server/test/store.ts';
import { at } from './at.ts';
import { storeEnv } from './namjai.ts';

export interface Seed {
  readonly file: string;
  readonly tips: number;
  readonly creators: number;
  readonly events?: boolean;
  readonly onProgress?: (done: number) => void;
  /** Breaks off, and leaves nothing behind. */
  readonly signal?: AbortSignal;
}

export interface SeededCreator {
  readonly creatorId: string;
  readonly username: string;
}

interface Head extends SeededCreator {
  sequence: number;
  total: number;
  month: string;
  monthTotal: number;
  monthCount: number;
}

const perTransaction = 50_000;
const spanMs = 300 * 86_400_000;

export async function seedTips(seed: Seed): Promise<SeededCreator[]> {
  if (existsSync(seed.file)) throw new Error(`${seed.file} exists already: name a new file, or delete it first.`);
  const part = `${seed.file}.part`;
  const clear = (): void => {
    for (const end of ['', '-wal', '-shm']) rmSync(`${part}${end}`, { force: true });
  };
  clear();
  try {
    const people = await fill(part, seed);
    renameSync(part, seed.file);
    return people;
  } catch (error) {
    clear();
    throw error;
  }
}

async function fill(file: string, { tips, creators, events = false, onProgress, signal }: Seed) {
  const { people, app, zone } = await withStore(storeEnv(`sqlite:${file}`), async (runtime) => ({
    people: await Promise.all(Array.from({ length: creators }, (_, i) => makeCreator(runtime, `seeded_${i}`))),
    app: { id: (await makeApp(runtime, 'Seeder')).clientId, name: 'Seeder' },
    zone: createZone(runtime.zone.name),
  }));
  const db = new DatabaseSync(file);
  try {
    // A crash while seeding costs a new seeding, nothing else.
    db.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE');
    db.exec('PRAGMA cache_size = -262144');
    const heads = people.map(
      (person): Head => ({ ...person, sequence: 0, total: 0, month: '', monthTotal: 0, monthCount: 0 }),
    );
    const insert = createInserts(db, app, zone, events);
    const from = Date.now() - spanMs;
    for (let done = 0; done < tips; ) {
      const end = Math.min(tips, done + perTransaction);
      db.exec('BEGIN');
      for (; done < end; done++)
        insert.tip(at(heads, done % creators), from + Math.floor(((done + 1) / tips) * spanMs));
      db.exec('COMMIT');
      onProgress?.(done);
      // So that an interruption is heard.
      await nextIteration();
      signal?.throwIfAborted();
    }
    for (const head of heads) insert.head(head, from + spanMs);
    check(db, tips);
    // The file then needs nothing beside it, and can be moved.
    db.exec('PRAGMA journal_mode = WAL');
  } finally {
    db.close();
  }
  return people;
}

function createInserts(db: DatabaseSync, app: { id: string; name: string }, zone: Zone, withEvents: boolean) {
  const tipRow = db.prepare(
    `INSERT INTO tips (creator_id, sequence, created_at, id, amount_minor, name, message, client_id, app_name)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const eventRow = db.prepare(
    'INSERT INTO events (creator_id, sequence, created_at, id, type, body) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const headRow = db.prepare(
    `UPDATE creator_heads SET sequence = ?, last_at = ?, total_minor = ?, tip_count = ?,
       month = ?, month_total_minor = ?, month_tip_count = ? WHERE creator_id = ?`,
  );
  let now = 0;
  const newId = createIds(() => now);

  function event(creatorId: string, sequence: number, tipId: string, minor: number, message: string): void {
    const id = newId('evt');
    const tip = toTip({
      id: tipId,
      amount_minor: minor,
      name: 'SEEDED',
      display_name: null,
      message,
      client_id: app.id,
      app_name: app.name,
      by_creator: 0,
      voided_at: null,
      void_reason: null,
      alert_status: 'queued',
      alert_shown_at: null,
      alert_name: null,
      alert_message: null,
      created_at: now,
    });
    const body = {
      id,
      type: 'tip.created',
      sequence,
      test: false,
      replay: false,
      creator_id: creatorId,
      created_at: toTimestamp(now),
      data: { tip },
    };
    eventRow.run(creatorId, sequence, now, id, body.type, JSON.stringify(body));
  }

  return {
    tip(head: Head, at: number): void {
      now = at;
      const { creatorId } = head;
      const sequence = ++head.sequence;
      const minor = 100 * (1 + ((sequence * 7919) % 5000));
      const month = zone.month(at).key;
      if (month !== head.month) {
        head.month = month;
        head.monthTotal = 0;
        head.monthCount = 0;
      }
      head.total += minor;
      head.monthTotal += minor;
      head.monthCount += 1;
      const id = newId('tip');
      const message = `Tip number ${sequence}`;
      tipRow.run(creatorId, sequence, at, id, minor, 'SEEDED', message, app.id, app.name);
      if (withEvents) event(creatorId, sequence, id, minor, message);
    },
    head({ creatorId, sequence, total, month, monthTotal, monthCount }: Head, at: number): void {
      headRow.run(sequence, at, total, sequence, month, monthTotal, monthCount, creatorId);
    },
  };
}

/** Compares the stored totals with the tips, in two passes without a sort. */
function check(db: DatabaseSync, tips: number): void {
  const kept = db
    .prepare('SELECT count(*) AS creators, sum(total_minor) AS total, sum(tip_count) AS count FROM creator_heads')
    .get();
  const summed = db.prepare('SELECT sum(amount_minor) AS total, count(*) AS count FROM tips').get();
  const whole = db
    .prepare(
      `SELECT count(*) AS creators FROM creator_heads JOIN
         (SELECT creator_id, count(*) AS n, max(sequence) AS newest FROM tips GROUP BY creator_id) USING (creator_id)
       WHERE n = tip_count AND newest = sequence`,
    )
    .get();
  const good =
    kept?.count === tips &&
    summed?.count === tips &&
    kept.total === summed.total &&
    whole?.creators === Math.min(tips, Number(kept.creators));
  if (!good) throw new Error(`the totals are not the sums: ${JSON.stringify({ tips, kept, summed, whole })}`);
}
