import type { FastifyRequest } from 'fastify';
import { formText } from '../../platform/web/form-body.ts';
import type { Zone } from '../../platform/zone.ts';
import type { Evening } from '../tips/index.ts';
import type { StartProblem } from './service.ts';
import { isPace, type Span } from './span.ts';

/** What the form of a rehearsal holds. */
export interface TypedRehearsal {
  /** An evening as `eveningValue` writes it, or `other`. */
  readonly evening: string;
  readonly from: string;
  readonly to: string;
  readonly pace: string;
}

export type WrongRehearsal = Partial<Record<'evening' | 'from' | 'to' | 'pace', StartProblem | 'time' | 'pace'>>;

export const otherSpan = 'other';
export const eveningValue = ({ from, to }: Span): string => `${from}-${to}`;

export const emptyRehearsal = (evenings: readonly Evening[]): TypedRehearsal => ({
  evening: evenings[0] ? eveningValue(evenings[0]) : otherSpan,
  from: '',
  to: '',
  pace: '10',
});

export const readRehearsal = (request: FastifyRequest): TypedRehearsal => ({
  evening: formText(request, 'evening'),
  from: formText(request, 'from'),
  to: formText(request, 'to'),
  pace: formText(request, 'pace').trim(),
});

export function parseRehearsal(
  { evening, pace, ...typed }: TypedRehearsal,
  zone: Zone,
): { readonly span: Span; readonly pace: number } | { readonly wrong: WrongRehearsal } {
  const chosen = /^(\d{1,15})-(\d{1,15})$/.exec(evening);
  const from = chosen ? Number(chosen[1]) : zone.instant(typed.from);
  const to = chosen ? Number(chosen[2]) : zone.instant(typed.to);
  const right = isPace(Number(pace));
  if (from !== undefined && to !== undefined && right) return { span: { from, to }, pace: Number(pace) };
  return {
    wrong: {
      ...(from === undefined && { from: 'time' }),
      ...(to === undefined && { to: 'time' }),
      ...(!right && { pace: 'pace' }),
    },
  };
}
