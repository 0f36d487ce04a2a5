import { canonicalText } from '../../platform/db/canonical.ts';
import type { Database } from '../../platform/db/database.ts';
import { createPauses } from '../../platform/pauses.ts';
import type { WorkQueue } from '../../platform/work-queue.ts';
import type { EventPosition } from '../events/index.ts';
import { allTips, type Selection } from './range.ts';
import { isSelected, sourceType, type TipRow, tipsPage, toTip } from './repo.ts';
import type { Tip } from './schemas.ts';

/** A tip matches if every condition holds; `null` and an empty text match every tip. */
export interface TipFilter extends Selection {
  /** Words to find in the names or the message, ignoring case. */
  readonly text: string;
  readonly minMinor: number | null;
  readonly maxMinor: number | null;
  /** The id of the app that recorded the tip, or `creator` or `cli`. */
  readonly source: string | null;
}

/**
 * To read a batch takes about a millisecond, to compare its texts up to ten: a letter can stand for eighteen. Other
 * requests run between two batches, and while texts are compared.
 */
const batchSize = 50;
/** A page ends after so many tips were read, with a link that continues the search. */
const maxRead = 10_000;
/** Reading so many tips is one unit of cost. */
export const tipsPerUnit = 1_000;

export interface SearchParts {
  readonly db: Database;
  /** Where all reading of long histories waits its turn. */
  readonly queue: WorkQueue;
}

/**
 * Finds tips by reading a creator's history in order, in batches, each of which waits its turn. The first is refused with
 * `QueueFull` when too many wait. The filter runs here and not in SQL: the engines disagree on the case of letters beyond
 * ASCII, and no pattern language can be injected.
 */
export function createSearch({ db, queue }: SearchParts) {
  /** Batches of the history, newest first: the matches of each and the position where it ends. */
  async function* batches(
    creatorId: string,
    filter: TipFilter,
    before: EventPosition | null,
    matches: (row: TipRow) => boolean = matcher(filter),
  ) {
    let position = before;
    async function next() {
      const pause = createPauses(creatorId);
      await pause();
      const rows = await tipsPage(db, creatorId, filter, position, batchSize);
      const last = rows.at(-1);
      position = last ? positionOf(last) : position;
      const found: TipRow[] = [];
      for (const row of rows) {
        await pause();
        if (matches(row)) found.push(row);
      }
      return { found, read: rows.length, position };
    }
    let batch = await queue.run(creatorId, next);
    while (batch.read === batchSize) {
      yield batch;
      batch = await queue.runAdmitted(creatorId, next);
    }
    yield batch;
  }

  return {
    /**
     * One page of matches. `next` is the position of the next page; `far` means that `maxRead` ended the page, or
     * `mayGoOn`, which is called after each unit of cost.
     */
    async search(
      creatorId: string,
      filter: TipFilter,
      before: EventPosition | null,
      limit: number,
      mayGoOn: () => boolean | Promise<boolean> = () => true,
    ): Promise<{ tips: Tip[]; next: EventPosition | null; far: boolean }> {
      const rows: TipRow[] = [];
      let read = 0;
      for await (const part of batches(creatorId, filter, before)) {
        rows.push(...part.found);
        read += part.read;
        const last = rows[limit - 1];
        if (last && rows.length > limit)
          return { tips: toTips(rows.slice(0, limit)), next: positionOf(last), far: false };
        if (part.read === batchSize && (read >= maxRead || (read % tipsPerUnit === 0 && !(await mayGoOn()))))
          return { tips: toTips(rows), next: part.position, far: true };
      }
      return { tips: toTips(rows), next: null, far: false };
    },

    /** The names of the newest tips that were not kept from the screen, as they were sent, in batches: each name once. */
    async *recentNames(creatorId: string): AsyncGenerator<string[]> {
      const names = new Set<string>();
      let read = 0;
      for await (const part of batches(creatorId, anyTip, null)) {
        const fresh = new Set<string>();
        for (const { alert_status, display_name, name } of part.found)
          if (!keptBack.includes(alert_status) && !names.has(display_name ?? name)) fresh.add(display_name ?? name);
        for (const name of fresh) names.add(name);
        yield [...fresh];
        read += part.read;
        if (read >= maxRead) return;
      }
    },

    /**
     * The tips before a position that have this name, or are shown by it: batches of the history, newest first, each
     * with the ids of these tips, how many tips it has in all, and where it ends.
     */
    async *ofName(creatorId: string, name: string, before: EventPosition) {
      const wanted = sameName(name);
      const matches = ({ name, display_name }: TipRow) =>
        sameName(name) === wanted || (display_name !== null && sameName(display_name) === wanted);
      for await (const { found, read, position } of batches(creatorId, anyTip, before, matches))
        yield { ids: found.map(({ id }) => id), read, position: position ?? before };
    },

    /** All matches, newest first, in batches that are read as they are consumed. */
    async *matching(creatorId: string, filter: TipFilter = anyTip): AsyncGenerator<Tip[]> {
      for await (const { found } of batches(creatorId, filter, null)) yield toTips(found);
    },
  };
}

const anyTip: TipFilter = { ...allTips, text: '', minMinor: null, maxMinor: null, source: null };
const keptBack: readonly string[] = ['held', 'skipped'];

const toTips = (rows: readonly TipRow[]): Tip[] => rows.map(toTip);
const positionOf = (row: TipRow): EventPosition => ({ createdAt: row.created_at, sequence: row.sequence });

function matcher(filter: TipFilter): (row: TipRow) => boolean {
  const { text, minMinor, maxMinor, source } = filter;
  const words = normalize(text).split(/\s+/).filter(Boolean);
  const [least, most] = [minMinor ?? 0, maxMinor ?? Number.POSITIVE_INFINITY];
  return (row) => {
    if (!isSelected(row, filter) || row.amount_minor < least || row.amount_minor > most) return false;
    if (source !== null && (row.client_id ?? sourceType(row)) !== source) return false;
    if (words.length === 0) return true;
    const inside = normalize(`${row.name}\n${row.display_name ?? ''}\n${row.message ?? ''}`);
    return words.every((word) => inside.includes(word));
  };
}

/** Equal for names that differ in case and spelling only. */
const sameName = (name: string): string => canonicalText(normalize(name)).trim();

/** Texts that look alike compare equal: composed and decomposed Thai sara am, full-width letters, capitals. */
const normalize = (text: string): string => text.normalize('NFKC').toLowerCase();
