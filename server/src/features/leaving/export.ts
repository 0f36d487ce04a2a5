/**
 * The archive of everything that is stored about a creator. It is made of the tables that platform/db/tables.ts exports, so
 * that a new table is a part of it without a change here. It is read in small batches while it is sent: memory does not
 * grow with the history, and other requests run between two batches.
 */
import { setImmediate as nextIteration } from 'node:timers/promises';
import { toTimestamp } from '../../platform/clock.ts';
import type { Value } from '../../platform/db/database.ts';
import type { Platform } from '../../platform/platform.ts';
import { createWorkQueue } from '../../platform/work-queue.ts';
import { type ZipEntry, zip } from '../../platform/zip.ts';
import { csvHead, csvLines, type Tips } from '../tips/index.ts';
import { type ExportedTable, exportedTables, nextRows, type Row } from './export-repo.ts';
import { readme } from './readme.ts';
import { writes } from './repo.ts';

export interface ExportParts extends Pick<Platform, 'db' | 'origins' | 'clock' | 'zone'> {
  readonly tips: Pick<Tips, 'matching' | 'historyCost'>;
}

export interface Archive {
  /** `namjai-malee-2026-11-16.zip` */
  readonly name: string;
  readonly bytes: AsyncGenerator<Uint8Array>;
}

const batchSize = 50;
/** Reading for exports on this node: two at once, and so many that wait. */
const exportReads = { atOnce: 2, maxWaiting: 30 };

export function createExport({ db, origins, clock, zone, tips }: ExportParts) {
  const queue = createWorkQueue(exportReads);

  /** Batches of a table's rows, in the order of its key. */
  async function* batches(creatorId: string, table: ExportedTable, columns: readonly string[], limit: number) {
    let last: Row | undefined;
    for (;;) {
      const rows = await queue.runAdmitted(creatorId, async () => {
        const read = await nextRows(db, table, columns, creatorId, last, limit);
        await nextIteration();
        return read;
      });
      if (rows.length > 0) yield rows;
      if (rows.length < limit) return;
      last = rows.at(-1);
    }
  }

  async function* json(creatorId: string, table: ExportedTable): AsyncGenerator<string> {
    let lead = '[\n';
    for await (const rows of batches(creatorId, table, table.columns, batchSize)) {
      let text = '';
      for (const row of rows) {
        text += lead + JSON.stringify(readable(row, table));
        lead = ',\n';
      }
      yield text;
    }
    yield lead === '[\n' ? '[]\n' : '\n]\n';
  }

  async function* csv(creatorId: string): AsyncGenerator<string> {
    yield csvHead;
    for await (const batch of tips.matching(creatorId)) yield await csvLines(creatorId, batch, zone);
  }

  /** Pictures and sounds, one at a time. */
  async function* files(creatorId: string, table: ExportedTable): AsyncGenerator<ZipEntry> {
    if (table.files.length === 0) return;
    for await (const [row] of batches(creatorId, table, [...table.columns, ...table.files], 1))
      for (const column of table.files) {
        const bytes = row?.[column];
        if (row && bytes instanceof Uint8Array) yield { name: fileName(table, row), content: [bytes] };
      }
  }

  async function* entries(creatorId: string, username: string): AsyncGenerator<ZipEntry> {
    const exported = await exportedTables(db);
    yield {
      name: 'README.txt',
      content: [
        readme(
          username,
          toTimestamp(clock()),
          exported.map(({ name }) => name),
        ),
      ],
    };
    yield { name: 'tips.csv', content: csv(creatorId) };
    for (const table of exported) {
      yield { name: `${table.name}.json`, content: json(creatorId, table) };
      yield* files(creatorId, table);
    }
  }

  return {
    /** What it costs to read everything, in units of the limits of the dashboard. */
    cost: tips.historyCost,

    /** The owner's audit log shows it. */
    async archive({ id, username }: { readonly id: string; readonly username: string }): Promise<Archive> {
      await db.write(writes.recordExport, origins.current(), id);
      const name = `namjai-${username}-${zone.local(clock()).slice(0, 10)}.zip`;
      return { name, bytes: zip(entries(id, username), new Date(clock())) };
    },
  };
}

/** `overlay_files/fil_….png` */
function fileName({ name }: ExportedTable, { id, type }: Row): string {
  const ending = String(type).split('/').at(-1)?.replace(/\W.*$/, '') || 'bin';
  return `${name}/${id}.${ending}`;
}

/** Columns that hold JSON: a reader of the export wants the thing itself, not a text in a text. */
export const jsonColumns: ReadonlySet<string> = new Set([
  ...['body', 'details', 'screened', 'rules', 'settings', 'looks', 'looks_draft', 'looks_previous'],
  ...['social_links', 'tip_channels', 'channel_details', 'redirect_uris', 'transports', 'types'],
]);

/** A row for people and programs: times as RFC 3339, JSON as such, files by their name in the archive. */
function readable(row: Row, table: ExportedTable): Record<string, unknown> {
  const columns = [...table.columns, ...(table.addsAppName ? ['app_name'] : [])];
  const fields = columns.map((column): [string, unknown] => [column, readableValue(column, row[column] ?? null)]);
  return Object.fromEntries([...fields, ...table.files.map((column) => [column, fileName(table, row)])]);
}

/** Times are milliseconds since 1970. 0 means never, and so does a number above the last time of a `Date`: both are null. */
function readableValue(column: string, value: Value): unknown {
  if (typeof value === 'number' && /(^|_)(at|until)$/.test(column))
    return value > 0 && value <= lastTime ? toTimestamp(value) : null;
  if (typeof value === 'string' && jsonColumns.has(column)) return JSON.parse(value);
  return value;
}
/** The last time that a date can have. */
const lastTime = 8.64e15;
