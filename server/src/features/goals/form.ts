import type { FastifyRequest } from 'fastify';
import { hasControls } from '../../platform/names.ts';
import { isBlank } from '../../platform/web/browser/text.ts';
import { type FormTexts, formTexts } from '../../platform/web/form-body.ts';
import { readMoney } from '../../platform/web/format.ts';
import type { Zone } from '../../platform/zone.ts';
import type { Goal } from '../events/index.ts';
import type { GoalChange, GoalInput } from './service.ts';
import type { GoalWords } from './words.ts';

const names = ['title', 'target', 'starts', 'ends'] as const;
/** The fields as typed. */
export type Typed = FormTexts<(typeof names)[number]>;
export type Wrong = { [Name in keyof Typed]?: string };

export const maxTitle = 60;
export const maxTargetMinor = 1_000_000_000;

export const readTyped = (request: FastifyRequest): Typed => formTexts(request, names);

/** An empty form: a goal from now on. */
export const emptyForm = (now: number, zone: Zone): Typed => ({
  title: '',
  target: '',
  starts: zone.reading(now),
  ends: '',
});

/** The fields of a goal that can be changed. */
export type TypedChange = Pick<Typed, 'title' | 'target'>;

export const changeForm = ({ title, target_minor }: Goal): TypedChange => ({
  title,
  target: target_minor % 100 === 0 ? String(target_minor / 100) : (target_minor / 100).toFixed(2),
});

export function parseChange(typed: TypedChange, t: GoalWords): GoalChange | { wrong: Wrong } {
  const title = typed.title.trim();
  const targetMinor = readMoney(typed.target) ?? 0;
  const wrong: Wrong = {};
  if (isBlank(title) || [...title].length > maxTitle || hasControls(title))
    wrong.title = t('titleError', { length: String(maxTitle) });
  if (targetMinor <= 0 || targetMinor > maxTargetMinor) wrong.target = t('targetError');
  return Object.keys(wrong).length > 0 ? { wrong } : { title, targetMinor };
}

export function parseGoal(typed: Typed, now: number, zone: Zone, t: GoalWords): GoalInput | { wrong: Wrong } {
  const change = parseChange(typed, t);
  const startsAt = typed.starts.trim() === '' ? now : zone.instant(typed.starts.trim());
  const endsAt = typed.ends.trim() === '' ? null : zone.instant(typed.ends.trim());
  const wrong: Wrong = 'wrong' in change ? change.wrong : {};
  if (startsAt === undefined) wrong.starts = t('timeError');
  if (endsAt === undefined) wrong.ends = t('timeError');
  else if (endsAt !== null && endsAt <= Math.max(now, startsAt ?? now)) wrong.ends = t('endsError');
  if (Object.keys(wrong).length > 0 || 'wrong' in change) return { wrong };
  if (startsAt === undefined || endsAt === undefined) return { wrong };
  return { ...change, startsAt, endsAt };
}
