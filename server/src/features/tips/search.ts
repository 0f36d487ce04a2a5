import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Database } from '../../platform/db/database.ts';
import type { Place, Range } from './range.ts';
import { type TipRow, tipsPage } from './repo.ts';
import type { Tip } from './schemas.ts';
import { toTip } from './tip.ts';

/** What is looked for. All of it must hold; `null` and an empty text hold for every tip. */
export interface TipFilter extends Range {
  /** Words that stand in the names or the message, whatever their case. */
  readonly text: string;
  readonly minMinor: number | null;
  readonly maxMinor: number | null;
  /** The app that recorded it, or `cli`. */
  readonly source: string | null;
}

/** One stretch of the index: other requests get their turn between two of them. */
const bite = 250;
/** How many tips one search looks at before it asks whether to go on. */
const mostLooked = 10_000;

/**
 * Finds tips by reading a creator's history in its order, in bounded stretches. What matches is decided here and not in
 * SQL: the engines disagree on the case of letters beyond ASCII, and no pattern language can be fed.
 */
export function createSearch({ db }: { db: Database }) {
  /** Bites of the history, newest first, with what matches in each and where it ends; its last one is the shorter. */
  async function* bites(creatorId: string, filter: TipFilter, before: Place | null) {
    const matches = matcher(filter);
    for (let place = before; ; await nextTurn()) {
      const rows = await tipsPage(db, creatorId, filter, place, bite);
      const last = rows.at(-1);
      place = last ? placeOf(last) : place;
      yield { found: rows.filter(matches), looked: rows.length, place };
      if (rows.length < bite) return;
    }
  }

  return {
    /** One page of what matches. `next`: where to go on; `far`: there because it looked long enough, not because it is full. */
    async search(
      creatorId: string,
      filter: TipFilter,
      before: Place | null,
      limit: number,
    ): Promise<{ tips: Tip[]; next: Place | null; far: boolean }> {
      const rows: TipRow[] = [];
      let looked = 0;
      for await (const part of bites(creatorId, filter, before)) {
        rows.push(...part.found);
        looked += part.looked;
        const last = rows[limit - 1];
        if (last && rows.length > limit) return { tips: toTips(rows.slice(0, limit)), next: placeOf(last), far: false };
        if (looked >= mostLooked) return { tips: toTips(rows), next: part.place, far: true };
      }
      return { tips: toTips(rows), next: null, far: false };
    },

    /** All that matches, newest first, a bite at a time: what is not taken yet is not read yet. */
    async *matching(creatorId: string, filter: TipFilter): AsyncGenerator<Tip[]> {
      for await (const { found } of bites(creatorId, filter, null)) yield toTips(found);
    },
  };
}

const toTips = (rows: readonly TipRow[]): Tip[] => rows.map(toTip);
const placeOf = (row: TipRow): Place => ({ createdAt: row.created_at, sequence: row.sequence });

function matcher({ text, minMinor, maxMinor, source }: TipFilter): (row: TipRow) => boolean {
  const words = plain(text).split(/\s+/).filter(Boolean);
  const [least, most] = [minMinor ?? 0, maxMinor ?? Number.POSITIVE_INFINITY];
  return (row) => {
    if (row.amount_minor < least || row.amount_minor > most) return false;
    if (source !== null && (row.client_id ?? 'cli') !== source) return false;
    if (words.length === 0) return true;
    const inside = plain(`${row.name}\n${row.display_name ?? ''}\n${row.message ?? ''}`);
    return words.every((word) => inside.includes(word));
  };
}

/** Texts that look alike are alike: Thai sara am in one piece or in two, full-width letters, capitals. */
const plain = (text: string): string => text.normalize('NFKC').toLowerCase();
