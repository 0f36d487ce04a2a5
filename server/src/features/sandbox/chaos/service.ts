/**
 * Chaos: faults on purpose, for an app that tries itself with a sandbox creator. Invariants:
 *
 * - A fault depends on the seed, the shares and the count alone (decide.ts). The count is a row of the database, so
 *   restarts and further nodes change nothing. Saving starts it anew.
 * - Only sandbox creators have chaos. Whoever calls this module has looked at that first; it costs others nothing.
 * - Every fault is listed, the newest 2,000 of a pair for seven days.
 * - Counting is a write that the app can ask for as often as it calls, so few run at once and few wait on a node.
 * - `revoked` pauses the grant until chaos is switched off or saved anew. The grant itself stays.
 */
import type { Platform } from '../../../platform/platform.ts';
import { createWorkQueue } from '../../../platform/work-queue.ts';
import type { Grants } from '../../oauth/index.ts';
import type { DeliveryFault } from '../../webhooks/index.ts';
import { type ChaosKind, chaosKinds, fullShare, lateMs, noShares, type Shares } from './decide.ts';
import * as repo from './repo.ts';
import { createReports, isFresh } from './report.ts';
import { type RunName, runs } from './runs.ts';

export interface ChaosParts extends Pick<Platform, 'db' | 'clock'> {
  readonly grants: Pick<Grants, 'announce'>;
}

export type Chaos = ReturnType<typeof createChaos>;

const keptMs = 7 * 24 * 3_600_000;
const pruneBatch = 1_000;
const maxSeed = 64;

export type ChaosProblem = 'seed' | 'shares';

export class ChaosError extends Error {
  readonly problem: ChaosProblem;
  constructor(problem: ChaosProblem) {
    super(
      problem === 'seed'
        ? `A seed has 1 to ${maxSeed} characters.`
        : `A share is a whole number of thousandths from 0 to ${fullShare}, and all of them are at most ${fullShare}.`,
    );
    this.problem = problem;
  }
}

export function createChaos({ db, clock, grants }: ChaosParts) {
  const counts = createWorkQueue({ atOnce: 4, maxWaiting: 256 });
  const { writes } = repo;
  const reports = createReports({ db });

  async function countNow(counting: Omit<repo.Counting, 'at'>): Promise<repo.Fault | undefined> {
    const fault = await db.write(writes.count, { ...counting, at: clock() });
    if (fault?.kind === 'revoked') grants.announce(counting.creatorId);
    return fault;
  }

  const ownerOf = ({ clientId, creatorId }: repo.Pair): string => `${clientId}:${creatorId}`;

  async function save(pair: repo.Pair, seed: string, shares: Partial<Shares>, run: RunName | null): Promise<void> {
    const all = { ...noShares, ...shares };
    if (seed.length < 1 || seed.length > maxSeed) throw new ChaosError('seed');
    if (!areValid(all)) throw new ChaosError('shares');
    await db.write(writes.save, { ...pair, seed, shares: JSON.stringify(all), run, at: clock() });
    grants.announce(pair.creatorId);
  }

  return {
    /** Rejects with `QueueFull` when too many wait. */
    count: (counting: Omit<repo.Counting, 'at'>): Promise<repo.Fault | undefined> =>
      counts.run(ownerOf(counting), () => countNow(counting)),

    /** Counts a delivery to an endpoint of an app. One that was late is not counted again. */
    async countDelivery(creatorId: string, endpointId: string, deliveryId: string): Promise<DeliveryFault | undefined> {
      const clientId = await repo.appOfEndpoint(db, endpointId);
      if (clientId === undefined) return undefined;
      const pair = { creatorId, clientId };
      if (await repo.wasLate(db, pair, deliveryId)) return { kind: 'webhook_late', lateMs: 0, twice: false };
      const about = { channel: 'delivery', amount: 1, subject: deliveryId, requestId: null, key: null } as const;
      const fault = await counts.runAdmitted(ownerOf(pair), () => countNow({ ...pair, ...about }));
      if (!fault) return undefined;
      const late = fault.kind === 'webhook_late';
      return { kind: fault.kind, lateMs: late ? lateMs(fault) : 0, twice: !late };
    },

    /** Switches chaos on with these shares. */
    save: (pair: repo.Pair, seed: string, shares: Partial<Shares>): Promise<void> => save(pair, seed, shares, null),

    /** Switches chaos on with the shares of a ready-made run. */
    start: (pair: repo.Pair, seed: string, run: RunName): Promise<void> => save(pair, seed, runs[run], run),

    /** Switches chaos off and keeps the report. */
    async stop(pair: repo.Pair): Promise<void> {
      const stopped = await db.write(writes.stop, pair, clock());
      grants.announce(pair.creatorId);
      const row = stopped ? await repo.chaosOf(db, pair) : undefined;
      if (row) await db.write(writes.setReport, pair, row.started_at, JSON.stringify(await reports.make(row)));
    },

    of: (pair: repo.Pair): Promise<repo.ChaosRow | undefined> => repo.chaosOf(db, pair),
    ofCreator: (creatorId: string): Promise<repo.ChaosRow[]> => repo.chaosOfCreator(db, creatorId),
    faults: (pair: repo.Pair, limit: number): Promise<repo.FaultRow[]> => repo.faultsOf(db, pair, limit),

    /** As it is now while chaos is on and for ten minutes after, then as it was last. */
    async report(pair: repo.Pair) {
      const row = await repo.chaosOf(db, pair);
      if (!row) return undefined;
      const report = await reports.of(row, clock());
      const text = JSON.stringify(report);
      if (isFresh(row, clock()) && text !== row.report) await db.write(writes.setReport, pair, row.started_at, text);
      return report;
    },

    /** A tip was recorded, but its answer was replaced. */
    recorded: (pair: repo.Pair, number: number, tipId: string): Promise<void> =>
      db.write(writes.addTip, pair, number, tipId),

    async prune(): Promise<void> {
      while ((await db.write(writes.deleteFaultsBefore, clock() - keptMs, pruneBatch)) >= pruneBatch);
      await db.write(writes.deleteOfDeletedApps);
    },
  };
}

function areValid(shares: Shares): boolean {
  const values = chaosKinds.map((kind: ChaosKind) => shares[kind]);
  const inRange = values.every((share) => Number.isInteger(share) && share >= 0 && share <= fullShare);
  return inRange && values.reduce((sum, share) => sum + share, 0) <= fullShare;
}
