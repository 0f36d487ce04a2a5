/**
 * Fills a store with tips, straight into its tables: `node bench/seed.ts --store FILE --tips 10000000 --creators 100`.
 * Afterwards everything is as if the tips had been recorded: sequences without gaps, totals and months right.
 * Without `--events` their events are left out, as they are once they are older than 30 days.
 *
 * Creator by creator and in order of time, so that every index of the tables grows at its end: that is as fast as
 * building it afterwards, and needs no second copy of the table's own keys.
 */
import { DatabaseSync } from 'node:sqlite';
import { parseArgs } from 'node:util';
import { createIds } from '../server/src/platform/ids.ts';
import { createZone } from '../server/src/platform/zone.ts';
import { makeApp, makeCreator } from '../server/test/factories.ts';
import { withStore } from '../server/test/store.ts';
import { storeEnv } from './lib/namjai.ts';
import { createProgress } from './lib/progress.ts';

export interface Seed {
  readonly file: string;
  readonly tips: number;
  readonly creators: number;
  readonly events?: boolean;
  readonly onProgress?: (done: number) => void;
}

export interface SeededCreator {
  readonly creatorId: string;
  readonly username: string;
}

const perTransaction = 50_000;
const spanMs = 300 * 86_400_000;

export async function seedTips({ file, tips, creators, events = false, onProgress }: Seed): Promise<SeededCreator[]> {
  const { people, app, zoneName } = await withStore(storeEnv(`sqlite:${file}`), async (runtime) => ({
    people: await Promise.all(Array.from({ length: creators }, (_, i) => makeCreator(runtime, `seeded_${i}`))),
    app: { id: (await makeApp(runtime, 'Seeder')).clientId, name: 'Seeder' },
    zoneName: runtime.zone.name,
  }));
  const db = new DatabaseSync(file);
  // A crash while seeding costs a new seeding, nothing else.
  db.exec('PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA cache_size = -262144');
  const insert = createInserts(db, app, zoneName, events);
  let done = 0;
  db.exec('BEGIN');
  for (const [i, { creatorId }] of people.entries()) {
    const count = Math.floor(tips / creators) + (i < tips % creators ? 1 : 0);
    insert.begin(creatorId, count);
    for (let n = 0; n < count; n++) {
      insert.tip();
      if (++done % perTransaction !== 0) continue;
      db.exec('COMMIT; BEGIN');
      onProgress?.(done);
    }
    insert.end();
  }
  db.exec('COMMIT; PRAGMA journal_mode = WAL');
  db.close();
  onProgress?.(done);
  return people;
}

function createInserts(db: DatabaseSync, app: { id: string; name: string }, zoneName: string, withEvents: boolean) {
  const zone = createZone(zoneName);
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
  let at = 0;
  const newId = createIds(() => at);
  const until = Date.now();
  let creatorId = '';
  let step = 0;
  let head = { sequence: 0, total: 0, month: '', monthTotal: 0, monthCount: 0 };
  return {
    begin(id: string, count: number): void {
      creatorId = id;
      step = Math.floor(spanMs / count);
      at = until - step * count;
      head = { sequence: 0, total: 0, month: '', monthTotal: 0, monthCount: 0 };
    },
    tip(): void {
      at += step;
      const sequence = ++head.sequence;
      const minor = 100 * (1 + ((sequence * 7919) % 5000));
      const id = newId('tip');
      const month = zone.month(at).key;
      if (month !== head.month) head = { ...head, month, monthTotal: 0, monthCount: 0 };
      head.total += minor;
      head.monthTotal += minor;
      head.monthCount += 1;
      const message = `Tip number ${sequence}`;
      tipRow.run(creatorId, sequence, at, id, minor, 'SEEDED', message, app.id, app.name);
      if (withEvents)
        eventRow.run(
          creatorId,
          sequence,
          at,
          newId('evt'),
          'tip.created',
          eventBody(creatorId, sequence, at, id, minor),
        );
    },
    end(): void {
      const { sequence, total, month, monthTotal, monthCount } = head;
      headRow.run(sequence, at, total, sequence, month, monthTotal, monthCount, creatorId);
    },
  };

  function eventBody(creator: string, sequence: number, ms: number, tipId: string, minor: number): string {
    const created = new Date(ms).toISOString();
    return JSON.stringify({
      id: newId('evt'),
      type: 'tip.created',
      sequence,
      test: false,
      replay: false,
      creator_id: creator,
      created_at: created,
      data: {
        tip: {
          id: tipId,
          amount: minor / 100,
          amount_minor: minor,
          currency: 'THB',
          name: 'SEEDED',
          display_name: null,
          message: `Tip number ${sequence}`,
          source: { type: 'api', client_id: app.id, app_name: app.name },
          alert: { status: 'queued', shown_at: null },
          created_at: created,
        },
      },
    });
  }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      store: { type: 'string' },
      tips: { type: 'string', default: '10000000' },
      creators: { type: 'string', default: '100' },
      events: { type: 'boolean', default: false },
    },
  });
  const [tips, creators] = [Number(values.tips), Number(values.creators)];
  if (!values.store || !(tips > 0) || !(creators > 0)) {
    console.error('Usage: node bench/seed.ts --store FILE [--tips 10000000] [--creators 100] [--events]');
    process.exit(2);
  }
  const progress = createProgress();
  const begun = performance.now();
  await seedTips({
    file: values.store,
    tips,
    creators,
    events: values.events,
    onProgress: (done) => progress.bar('tips', done, tips),
  });
  progress.done();
  console.log(`${tips.toLocaleString('en')} tips in ${Math.round((performance.now() - begun) / 1000)} s`);
}
