/** A trace as plain text, for the command line. */
import { duration, laneNames, missing, missingLabel, missingWord, skippedBecause, stepText } from './describe.ts';
import type { LaneMissing, LaneStep, TraceView } from './model.ts';
import type { MissingStep, TraceStep } from './schemas.ts';
import { type TraceT, traceWords } from './words.ts';

/** A trace as the API answers it. A newer server may know more kinds. */
export interface ApiTrace {
  readonly tip_id: string;
  readonly steps: readonly TraceStep[];
  readonly missing: readonly MissingStep[];
}

const known = ['recorded', 'event', 'held', 'approved', 'rejected', 'overlay', 'webhook', 'voided'] as const;
const kinds: readonly string[] = known satisfies readonly TraceStep['kind'][];

/** With a lane for each webhook, named by its id. Kinds and reasons that are not known are passed over. */
export function viewOfApiTrace({ tip_id, ...trace }: ApiTrace): TraceView {
  const steps = trace.steps.filter(({ kind }) => kinds.includes(kind));
  const laneOf = (kind: string, webhook: string | null): string =>
    kind === 'webhook' ? (webhook ?? 'server') : kind === 'overlay' ? 'overlay' : 'server';
  const laned = steps.map(
    (step): LaneStep => ({ ...step, lane: laneOf(step.kind, step.kind === 'webhook' ? step.detail.webhook_id : null) }),
  );
  const reasons = trace.missing.filter(({ reason }) => Object.hasOwn(missing, reason));
  const absent = reasons.map((step): LaneMissing => ({ ...step, lane: laneOf(step.kind, step.webhook_id) }));
  const ids = new Set([...laned, ...absent].map(({ lane }) => lane));
  const receivers = [...ids]
    .filter((id) => id !== 'server' && id !== 'overlay')
    .map((id) => ({ id, kind: 'outside', name: id, url: null }));
  return { id: tip_id, tip: null, receivers, steps: laned, missing: absent };
}

/** The answer, then one line a step: the time, that since the first one, where, and what. Times are UTC. */
export function traceLines(view: TraceView): string[] {
  const t = traceWords('en');
  const names = laneNames(view, t);
  const start = Date.parse(view.steps[0]?.at ?? '');
  const rows = [
    ...view.steps.map((step) => [
      clockTime(step.at, view.steps[0]?.at),
      Date.parse(step.at) === start ? t('start') : `+${duration(Date.parse(step.at) - start, t)}`,
      names.get(step.lane) ?? '',
      [stepText(step, t), ...more(step, t)].join(' '),
    ]),
    ...view.missing.map((each) => [
      '',
      t(missingLabel(each)),
      names.get(each.lane) ?? '',
      `${t(missingWord(each))}${each.since === null ? '' : ` (${each.since})`}`,
    ]),
  ];
  const widths = [0, 1, 2].map((column) => Math.max(0, ...rows.map((row) => row[column]?.length ?? 0)));
  const addresses = view.receivers.flatMap(({ id, url }) => (url === null ? [] : [`${names.get(id)} is ${url}`]));
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
  return [...headline(view, t), ...lines, ...addresses];
}

/** `04:00:05.120`, with the date where it is not that of the first step. */
function clockTime(at: string, first = at): string {
  const [date, time = ''] = at.replace('Z', '').split('T');
  return first.startsWith(date ?? '') && at !== first ? time : `${date} ${time}`;
}

function headline({ steps, missing: absent }: TraceView, t: TraceT): string[] {
  const outcome = steps.find((step) => step.kind === 'overlay');
  const after = Date.parse(outcome?.at ?? '') - Date.parse(steps[0]?.at ?? '');
  if (outcome?.outcome === 'shown') return [t('verdictShown', { after: duration(after, t) })];
  const first = absent.find(({ kind }) => kind === 'overlay');
  if (!outcome && !first) return [];
  return [t(first && missingLabel(first) === 'notYet' ? 'verdictNotYet' : 'verdictNotShown')];
}

function more(step: LaneStep, t: TraceT): string[] {
  switch (step.kind) {
    case 'recorded':
      return step.detail.request_id === null ? [] : [`(${step.detail.request_id})`];
    case 'overlay': {
      const because = skippedBecause(step, t);
      return [...(because ? [because] : []), ...(step.detail.overlay_open === false ? [t('noOverlayThen')] : [])];
    }
    case 'replay':
      return step.detail.overlay_open ? [] : [t('noOverlayWasOpen')];
    case 'webhook': {
      const { error, next_attempt_at: next } = step.detail;
      return [...(error ? [`(${error})`] : []), ...(next ? [`${t('nextAttempt')} ${next}`] : [])];
    }
    case 'voided':
      return step.detail.reason === null ? [] : [`(${step.detail.reason})`];
    default:
      return [];
  }
}
