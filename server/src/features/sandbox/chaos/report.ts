/** What an app made of its faults: which calls it repeated rightly, what it lost and what it recorded twice. */
import { setImmediate as nextIteration } from 'node:timers/promises';
import type { Reader } from '../../../platform/db/database.ts';
import { type ChaosKind, chaosKinds } from './decide.ts';
import { type ChaosRow, mostFaults, type Pair } from './repo.ts';
import {
  countByKind,
  lostKeys,
  type TipCallsRow,
  type TipContentRow,
  tipCalls,
  tipsAfter,
  unconfirmedTips,
} from './report-repo.ts';
import type { RunName } from './runs.ts';

export interface ChaosReport {
  readonly run: RunName | null;
  readonly seed: string;
  readonly startedAt: number;
  /** `null` while chaos is on. */
  readonly stoppedAt: number | null;
  readonly calls: number;
  readonly frames: number;
  readonly deliveries: number;
  /** By kind: how often it happened. Of more than 2,000 faults, the newest count. */
  readonly faults: Readonly<Record<ChaosKind, number>>;
  readonly complete: boolean;
  readonly tipCalls: Pick<TipCallsRow, 'refused' | 'repeated'> & { readonly withoutKey: number };
  /** Sockets and streams that were opened with a position. */
  readonly resumed: number;
  /** Idempotency keys of refused calls under which nothing was recorded. */
  readonly lost: readonly string[];
  /** Tips that were recorded, but whose answer the app never asked for again. */
  readonly unconfirmed: readonly string[];
  /** Of these, tips that were recorded once more under another key, among the creator's next 10,000. */
  readonly doubled: readonly string[];
  /** Calls after the grant was revoked. The first of them tells the app. */
  readonly afterRevoked: number;
  /** Nothing was lost, left unconfirmed or doubled, no tip came without a key, and a revoked grant was left alone. */
  readonly passed: boolean;
}

const mostListed = 100;
/** Tips of one read. Other requests run between two of them. */
const batchSize = 100;
const maxRead = 10_000;
/** An app may have some calls in flight when the first one tells it that the grant is gone. */
const toleratedAfterRevoked = 10;

/** What an app repeats within this time after chaos was switched off still counts. */
const graceMs = 10 * 60_000;

export const isFresh = ({ stopped_at }: ChaosRow, now: number): boolean =>
  stopped_at !== null && now - stopped_at < graceMs;

export function createReports({ db }: { readonly db: Reader }) {
  /** The tips after which the app recorded another one with the same content. Reads the history once for all of them. */
  async function recordedAgain(
    { creatorId, clientId }: Pair,
    tips: readonly TipContentRow[],
  ): Promise<TipContentRow[]> {
    const last = new Map(tips.map((tip) => [contentKeyOf(tip), 0]));
    let position = [...tips].sort((a, b) => a.sequence - b.sequence)[0];
    for (let read = 0; position && read < maxRead; read += batchSize) {
      const batch = await tipsAfter(db, creatorId, position, batchSize);
      for (const tip of batch)
        if (tip.client_id === clientId && last.has(contentKeyOf(tip))) last.set(contentKeyOf(tip), tip.sequence);
      position = batch.length === batchSize ? batch.at(-1) : undefined;
      await nextIteration();
    }
    return tips.filter((tip) => (last.get(contentKeyOf(tip)) ?? 0) > tip.sequence);
  }

  async function make(row: ChaosRow): Promise<ChaosReport> {
    const pair: Pair = { creatorId: row.creator_id, clientId: row.client_id };
    const [kinds, tips, lost, unconfirmed] = await Promise.all([
      countByKind(db, pair),
      tipCalls(db, pair),
      lostKeys(db, pair, mostListed),
      unconfirmedTips(db, pair, mostListed),
    ]);
    const doubled = await recordedAgain(pair, unconfirmed);
    const faults = Object.fromEntries(
      chaosKinds.map((kind) => [kind, kinds.find((row) => row.kind === kind)?.count ?? 0]),
    ) as Record<ChaosKind, number>;
    const afterRevoked = Math.max(0, faults.revoked - 1);
    return {
      run: row.run,
      seed: row.seed,
      startedAt: row.started_at,
      stoppedAt: row.stopped_at,
      calls: row.calls,
      frames: row.frames,
      deliveries: row.deliveries,
      faults,
      complete: row.faults <= mostFaults,
      tipCalls: { refused: tips.refused, repeated: tips.repeated, withoutKey: tips.without_key },
      resumed: row.resumed,
      lost: lost.map(({ key }) => key),
      unconfirmed: unconfirmed.map(({ id }) => id),
      doubled: doubled.map(({ id }) => id),
      afterRevoked,
      passed:
        lost.length + unconfirmed.length + doubled.length + tips.without_key === 0 &&
        afterRevoked <= toleratedAfterRevoked,
    };
  }

  return {
    make,
    /** As it was kept, unless it can still change. */
    of: (row: ChaosRow, now: number): Promise<ChaosReport> | ChaosReport =>
      row.report === null || isFresh(row, now) ? make(row) : JSON.parse(row.report),
  };
}

const contentKeyOf = ({ amount_minor, name, display_name, message }: TipContentRow): string =>
  JSON.stringify([amount_minor, name, display_name ?? '', message ?? '']);
