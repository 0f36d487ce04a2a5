/** A trace in words: what each step says, on the page and in the picture. */

import type { Tone } from '../../platform/web/blocks.ts';
import { withinSentence } from '../../platform/web/browser/text.ts';
import type { HoldReason, StoredSkipReason } from '../events/index.ts';
import type { Lane, LaneMissing, LaneStep, TraceView } from './model.ts';
import type { TraceT } from './words.ts';

const skipped = {
  by_creator: 'becauseByCreator',
  below_minimum: 'becauseBelowMinimum',
  rejected: 'becauseRejected',
  held_too_long: 'becauseHeldTooLong',
  voided: 'becauseVoided',
  blocked: 'becauseBlocked',
} as const satisfies Record<StoredSkipReason, string>;

/** Why an alert was skipped; nothing if it was shown or has expired. */
export function skippedBecause(step: Extract<LaneStep, { kind: 'overlay' }>, t: TraceT): string | undefined {
  const { reason } = step.detail;
  return step.erased ? t('becauseErased') : reason === null ? undefined : t(skipped[reason]);
}

const held = {
  word_list: 'byWordList',
  links: 'byLinks',
  numbers: 'byNumbers',
  everything: 'byEverything',
  new_name: 'byNewName',
  amount: 'byAmount',
} as const satisfies Record<HoldReason, string>;

export const missing = {
  held: 'missingHeld',
  no_overlay: 'missingNoOverlay',
  too_small: 'missingTooSmall',
  too_old: 'missingTooOld',
  hidden: 'missingHidden',
  paused: 'missingPaused',
  waiting: 'missingWaiting',
  no_webhook: 'missingNoWebhook',
  not_permitted: 'missingNotPermitted',
  type_not_chosen: 'missingTypeNotChosen',
  added_later: 'missingAddedLater',
  listener_closed: 'missingListenerClosed',
  disabled: 'missingDisabled',
  grant_ended: 'missingGrantEnded',
  below_minimum: 'missingBelowMinimum',
  not_shown: 'missingNotShown',
  not_kept: 'missingNotKept',
  no_program: 'missingNoProgram',
} as const satisfies Record<LaneMissing['reason'], string>;

/** A test alert is for the overlays that were open then. */
const isOfTest = ({ kind, event_id }: LaneMissing): boolean => kind === 'overlay' && event_id !== null;

export const missingWord = (step: LaneMissing) =>
  step.reason === 'no_overlay' && isOfTest(step) ? 'noOverlayWasOpen' : missing[step.reason];

/** What may happen by itself, or by the creator's approval. */
const expected: readonly LaneMissing['reason'][] = ['waiting', 'held'];

/** What no overlay changes any more. */
const final: readonly LaneMissing['reason'][] = ['too_small', 'too_old'];

export const missingTone = ({ reason }: LaneMissing): 'info' | 'warn' => (expected.includes(reason) ? 'info' : 'warn');

/** A queued alert is shown as soon as an overlay can. A test alert and a delivery that was not made come no more. */
export const missingLabel = (step: LaneMissing): 'notYet' | 'never' => {
  const { kind, reason } = step;
  return expected.includes(reason) || (kind === 'overlay' && !isOfTest(step) && !final.includes(reason))
    ? 'notYet'
    : 'never';
};

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

/** `84 ms`, `5.2 s`, `3 h`. */
export function duration(ms: number, t: TraceT): string {
  const [unit, size] = units.find(([, length]) => ms >= length) ?? (['ms', 1] as const);
  const n = ms / size;
  return t(unit, { n: n < 10 && unit !== 'ms' ? String(Math.round(n * 10) / 10) : String(Math.round(n)) });
}

/** The names of the lanes by their ids. Several webhooks of one app are told apart by a number. */
export function laneNames({ receivers }: TraceView, t: TraceT): ReadonlyMap<string, string> {
  const names = new Map([
    ['server', t('server')],
    ['overlay', t('overlay')],
  ]);
  const counts = new Map<string, number>();
  for (const lane of receivers) {
    const number = (counts.get(lane.name ?? '') ?? 0) + 1;
    if (lane.kind === 'http') counts.set(lane.name ?? '', number);
    names.set(lane.id, laneName(lane, number, t));
  }
  return names;
}

/** The programs that connections are for, as they call themselves. */
const programs: ReadonlyMap<string, string> = new Map([
  ['discord', 'Discord'],
  ['kofi', 'Ko-fi'],
  ['program', 'Stream key'],
]);

function laneName({ kind, name }: Lane, number: number, t: TraceT): string {
  const app = withinSentence(name || (programs.get(kind) ?? kind));
  if (kind === 'listener') return t('ofApp', { app, receiver: t('listener') });
  return kind === 'http' ? t('ofApp', { app, receiver: t('webhook', { number }) }) : app;
}

/** A step in one line. */
export function stepText(step: LaneStep, t: TraceT): string {
  switch (step.kind) {
    case 'recorded': {
      const { type, app_name } = step.detail.source;
      if (type === 'creator') return t('recordedCreator');
      return type === 'cli' ? t('recordedCli') : t('recordedApp', { app: app_name ?? '' });
    }
    case 'event':
      return t('event', { sequence: step.detail.sequence, type: step.detail.type });
    case 'held': {
      const { reason } = step.detail;
      return reason === null ? t('held') : t('heldBy', { reason: t(held[reason]) });
    }
    case 'overlay':
      return t(step.outcome);
    case 'webhook': {
      const { event_type: type, status_code: status, duration_ms } = step.detail;
      const took = { type, duration: duration(duration_ms, t) };
      if (status === null) return t('noAnswer', took);
      return t(step.outcome === 'succeeded' ? 'delivered' : 'refused', { ...took, status });
    }
    case 'program':
      return t('sentToProgram', { type: step.detail.type });
    case 'replay':
      return t('replayed');
    case 'approved':
    case 'rejected':
    case 'voided':
      return t(step.kind);
  }
}

/** One or two words for the picture. */
export function shortText(step: LaneStep, t: TraceT): string {
  switch (step.kind) {
    case 'event':
      return `#${step.detail.sequence}`;
    case 'overlay':
      return t(step.outcome === 'shown' ? 'shortShown' : step.outcome === 'skipped' ? 'shortSkipped' : 'shortExpired');
    case 'webhook':
      return step.detail.status_code === null ? t('shortNoAnswer') : String(step.detail.status_code);
    case 'program':
      return t('shortSent');
    case 'replay':
      return t('shortReplayed');
    case 'recorded':
      return t('shortRecorded');
    case 'held':
      return t('shortHeld');
    case 'approved':
      return t('shortApproved');
    case 'rejected':
      return t('shortRejected');
    case 'voided':
      return t('shortVoided');
  }
}

export function toneOf(step: LaneStep): Tone | 'plain' {
  if (step.outcome === 'shown' || step.outcome === 'succeeded' || step.outcome === 'sent' || step.kind === 'approved')
    return 'ok';
  if (step.outcome === 'failed') return 'error';
  if (step.outcome === 'skipped' || step.outcome === 'expired') return 'warn';
  return step.kind === 'held' || step.kind === 'rejected' || step.kind === 'voided' ? 'warn' : 'info';
}
