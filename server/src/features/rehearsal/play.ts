/**
 * The schedule is absolute: an alert is due at a time counted from the start on a monotonic clock, whatever was late before
 * it. So lateness never adds up, and the write of an alert is issued within about a millisecond of its due time. What
 * remains is how long its commit takes.
 */
import type { Clock } from '../../platform/clock.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Accounts } from '../accounts/index.ts';
import type { EventLog } from '../events/index.ts';
import type { Tips } from '../tips/index.ts';
import * as repo from './repo.ts';
import { leaseMs } from './span.ts';
import { progressTopic, rehearsalTopic } from './topics.ts';

export interface PlayParts extends Pick<Platform, 'db' | 'hub' | 'clock' | 'wait'> {
  /** A monotonic clock: alerts keep their spacing when the wall clock is set. */
  readonly steady: Clock;
  readonly events: EventLog;
  readonly tips: Tips;
  readonly accounts: Pick<Accounts, 'sandboxOf'>;
}

interface Schedule {
  readonly from_at: number;
  readonly to_at: number;
  readonly pace: number;
  /** When the first instant of the span is due, on the monotonic clock. */
  readonly startsAt: number;
}

const pageSize = 100;
/** What is late is played by one write, up to so much of it. */
const maxDue = 50;
const renewMs = leaseMs / 4;
const progressMs = 1_000;

/** Plays every alert at its time, and late ones at once, in their order, until the end or until somebody ends it. */
export async function playRehearsal(
  { db, hub, clock, steady, wait, events, tips, accounts }: PlayParts,
  own: repo.Playing,
  { from_at, to_at, pace, startsAt }: Schedule,
  stopping: AbortSignal,
): Promise<void> {
  const { creatorId } = own;
  const sandbox = (await accounts.sandboxOf(creatorId)) !== null;
  const stopped = new Promise<void>((resolve) => stopping.addEventListener('abort', () => resolve(), { once: true }));
  const dueAt = (at: number): number => startsAt + (at - from_at) / pace;
  let renewedAt = steady();
  let progressSentAt = Number.NEGATIVE_INFINITY;

  const eventOf = () =>
    sandbox ? events.prepare({ creatorId, type: 'alert.replayed', test: true, replay: true }) : null;

  async function play(tipIds: readonly string[]): Promise<boolean> {
    const [now, playedAt] = [steady(), clock()];
    const alerts = tipIds.map((tipId) => ({ tipId, event: eventOf() }));
    const done = await db.write(repo.writes.step, own, alerts, playedAt, playedAt + leaseMs);
    if (!done) return false;
    renewedAt = now;
    if (done.sequence !== null) events.announce(creatorId, done.sequence);
    hub.publish(rehearsalTopic(creatorId), '');
    if (now - progressSentAt < progressMs) return true;
    progressSentAt = now;
    hub.publish(progressTopic(creatorId), '');
    return true;
  }

  /** Waits for the time of an alert, and renews the lease meanwhile. Returns whether the rehearsal still plays. */
  async function waitUntil(due: number): Promise<boolean> {
    for (let now = steady(); now < due; now = steady()) {
      await Promise.race([wait(Math.min(Math.ceil(due - now), renewMs)), stopped]);
      if (stopping.aborted) return false;
      if (steady() - renewedAt < renewMs) continue;
      renewedAt = steady();
      if (!(await db.write(repo.writes.renew, own, clock() + leaseMs))) return false;
    }
    return !stopping.aborted;
  }

  const pageAfter = (position: { readonly at: number; readonly sequence: number }) =>
    tips.showableAfter(creatorId, position, to_at, pageSize);

  for (let page = await pageAfter({ at: from_at, sequence: 0 }); page.length > 0; ) {
    const [alerts, last] = [page, page.at(-1)];
    // Read while this page plays, so that no alert waits for it. The past does not change; what may be shown is decided
    // again when an alert is played.
    const following = last && alerts.length === pageSize ? pageAfter(last) : Promise.resolve([]);
    following.catch(() => {});
    for (let next = 0; next < alerts.length; ) {
      const first = alerts[next];
      if (!first || !(await waitUntil(dueAt(first.at)))) return;
      const now = steady();
      const due = alerts.slice(next, next + maxDue).filter(({ at }) => dueAt(at) <= now);
      if (!(await play(due.map(({ id }) => id)))) return;
      next += due.length;
    }
    page = await following;
  }
  await db.write(repo.writes.end, own, 'finished', clock());
  hub.publish(rehearsalTopic(creatorId), '');
  hub.publish(progressTopic(creatorId), '');
}
