import { createHash } from 'node:crypto';
import { ApiError, validationFailed } from '../../errors.ts';
import type { Platform } from '../../platform/platform.ts';
import { createWorkQueue } from '../../platform/work-queue.ts';
import { creatorGone, type EventLog, type EventTrace, readStoredTip } from '../events/index.ts';
import { createDays, type DayTotal, sumBetween } from './days.ts';
import { createErased } from './erased.ts';
import { createHeld } from './held.ts';
import { createReads, noTip } from './reads.ts';
import * as repo from './repo.ts';
import type { HoldReason, Tip } from './schemas.ts';
import { createSearch, tipsPerUnit } from './search.ts';
import { createShowable } from './showable.ts';
import { createSupporters } from './supporters.ts';
import { writes as voidWrites } from './void-repo.ts';

export interface TipsParts extends Pick<Platform, 'db' | 'clock' | 'newId' | 'zone'> {
  readonly events: EventLog;
  readonly screen: ScreenTip;
}

/** Decides what is shown of a new tip. `refused` is the version of rules whose verdict the write has refused. */
export type ScreenTip = (creatorId: string, tip: UnscreenedTip, refused?: number) => Promise<Screened>;

interface UnscreenedTip {
  readonly amountMinor: number;
  readonly name: string;
  readonly displayName: string | null;
  readonly message: string | null;
}

export interface Screened {
  readonly status: 'queued' | 'held' | 'blocked';
  /** What is shown; `null`: name and message as they were sent. */
  readonly shown: { readonly name: string; readonly message: string | null } | null;
  /** The rule that holds it, if it is held. */
  readonly heldBy?: HoldReason | null;
  /** The version of the creator's rules. */
  readonly version: number;
}

export interface NewTip {
  readonly creatorId: string;
  /** The app that records the tip; `creator` by hand on the dashboard, `null` from the command line. */
  readonly app: { readonly id: string; readonly name: string } | 'creator' | null;
  readonly amount: number;
  readonly name: string;
  readonly displayName: string | null;
  readonly message: string | null;
  readonly idempotencyKey?: string | undefined;
  readonly requestId?: string | undefined;
  readonly trace?: EventTrace | undefined;
}

export type Tips = ReturnType<typeof createTips>;

/** Who takes a tip back: the app that recorded it, or the creator. */
export interface Voider {
  readonly clientId: string | null;
  readonly reason: string | null;
  readonly trace?: EventTrace | undefined;
}

/** An app can void a tip for this long. */
const voidableMs = 90 * 86_400_000;
const keyLifeMs = 24 * 3_600_000;
const pruneBatch = 500;

/** Reading of long histories on this node: two at once, and so many that wait. */
const historyReads = { atOnce: 2, maxWaiting: 30 };

/**
 * Screens the words of a tip or a test alert and writes them, again and again while the rules change in between: `write`
 * refuses a verdict of other rules than those that it finds.
 */
export async function writeScreened<Done>(
  screen: ScreenTip,
  creatorId: string,
  unscreened: UnscreenedTip,
  write: (screened: Screened) => Promise<Done | 'rules_changed'>,
): Promise<Done> {
  for (let refused: number | undefined; ; ) {
    const screened = await screen(creatorId, unscreened, refused);
    const done = await write(screened);
    if (done !== 'rules_changed') return done;
    if (screened.version === refused) throw creatorGone();
    refused = screened.version;
  }
}

export function createTips({ db, events, screen, clock, newId, zone }: TipsParts) {
  const queue = createWorkQueue(historyReads);

  async function headOf(creatorId: string) {
    const head = await events.head(creatorId);
    if (!head) throw creatorGone();
    // Another node's clock may be ahead: the newest event can be later than this node's time.
    return { head, asOf: Math.max(clock(), head.last_at) };
  }

  const readHead = async (creatorId: string) => (await headOf(creatorId)).head;
  const daysUntil = createDays({ db, zone, queue, readHead });

  /** How many tips there are, voided ones included. */
  async function countRecorded(creatorId: string): Promise<number> {
    const { tip_count, void_count } = (await headOf(creatorId)).head;
    return tip_count + void_count;
  }

  /** Records a completed tip, or returns the tip that the first use of its idempotency key recorded. */
  async function recordAsJson(input: NewTip): Promise<{ id: string; json: string; replayed: boolean }> {
    const id = newId('tip');
    const amountMinor = Math.round(input.amount * 100);
    const key = keyOf(input, clock());
    const event = events.prepare({
      creatorId: input.creatorId,
      type: 'tip.created',
      amountMinor,
      trace: input.trace,
    });
    const done = await writeScreened(screen, input.creatorId, { ...input, amountMinor }, (screened) =>
      db.write(repo.writes.recordTip, event, newRow(id, amountMinor, input, screened), key, screened.version),
    );
    if ('fingerprint' in done) {
      if (done.fingerprint !== key?.fingerprint) throw new ApiError('idempotency_key_reused');
      const tip = readStoredTip(JSON.parse(done.body).data.tip);
      return { id: tip.id, json: JSON.stringify(tip), replayed: true };
    }
    events.announce(input.creatorId, done.sequence);
    return { id, json: done.json, replayed: false };
  }

  return {
    ...createReads({ db, zone, headOf }),
    ...createSearch({ db, queue }),
    ...createErased(db),
    ...createShowable({ db, queue }),
    ...createHeld({ db, clock, queue, sequenceOf: async (creatorId) => (await headOf(creatorId)).head.sequence }),

    countRecorded,

    /** What it costs to read the whole history, in units. */
    historyCost: async (creatorId: string): Promise<number> =>
      Math.ceil((await countRecorded(creatorId)) / tipsPerUnit),

    recordAsJson,

    async record(input: NewTip): Promise<{ tip: Tip; replayed: boolean }> {
      const { json, replayed } = await recordAsJson(input);
      return { tip: JSON.parse(json), replayed };
    },

    /** Takes a tip back, for good. A repeat returns the tip as it was voided first. */
    async void(creatorId: string, id: string, { clientId, reason, trace }: Voider): Promise<Tip> {
      for (;;) {
        const row = await repo.tipById(db, creatorId, id);
        if (!row || (clientId !== null && row.client_id !== clientId)) throw noTip();
        if (row.voided_at !== null) return repo.toTip(row);
        if (clientId !== null && clock() - row.created_at > voidableMs)
          throw validationFailed({ field: 'id', message: 'must be a tip of the last 90 days' });
        const done = await db.write(voidWrites.voidTip, {
          tipId: id,
          createdAt: row.created_at,
          month: zone.month(row.created_at).key,
          reason,
          skipped: events.prepare({ creatorId, type: 'alert.skipped', subjectId: id, trace }),
          voided: events.prepare({ creatorId, type: 'tip.voided', subjectId: id, trace }),
        });
        // Another request was first, or the tip was moved to another time: it has to be read again.
        if (!done) continue;
        events.announce(creatorId, done.sequence);
        return done.tip;
      }
    },

    /** Who has tipped most today, this month or in all, the highest total first. */
    top: createSupporters({ db, zone, queue, headOf }),

    /** The totals of the last `count` days, oldest first. */
    async days(creatorId: string, count: number): Promise<DayTotal[]> {
      const { head, asOf } = await headOf(creatorId);
      return daysUntil(creatorId, asOf, head, count);
    },

    /** The total of the tips of [from, before) that are not voided. It may read a long history. */
    sum: (creatorId: string, from: number, before: number) => sumBetween({ db, queue }, creatorId, from, before),

    /** Deletes idempotency keys older than 24 hours, in batches. */
    async pruneKeys(): Promise<void> {
      while ((await db.write(repo.writes.deleteKeysBefore, clock() - keyLifeMs, pruneBatch)) > 0);
    },
  };
}

function newRow(id: string, amountMinor: number, input: NewTip, { status, shown, heldBy }: Screened): repo.NewTipRow {
  const blocked = status === 'blocked';
  const app = input.app === 'creator' ? null : input.app;
  return {
    id,
    amount_minor: amountMinor,
    name: input.name,
    display_name: input.displayName,
    message: input.message,
    client_id: app?.id ?? null,
    app_name: app?.name ?? null,
    by_creator: input.app === 'creator' ? 1 : 0,
    alert_status: blocked ? 'skipped' : status,
    alert_reason: blocked ? status : (heldBy ?? null),
    alert_name: shown?.name ?? null,
    alert_message: shown?.message ?? null,
    request_id: input.requestId ?? null,
  };
}

/** Requests with equal fields, after parsing, count as the same request. */
function fingerprintOf({ amount, name, message, displayName }: NewTip): string {
  return createHash('sha256')
    .update(JSON.stringify([amount, name, message, displayName]))
    .digest('base64url');
}

function keyOf(input: NewTip, now: number): repo.NewKey | null {
  if (input.idempotencyKey === undefined || !input.app) return null;
  return {
    clientId: input.app === 'creator' ? input.app : input.app.id,
    key: input.idempotencyKey,
    fingerprint: fingerprintOf(input),
    now,
    staleBefore: now - keyLifeMs,
  };
}
