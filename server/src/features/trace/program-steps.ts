/** What programs with stream keys were sent, and why one was not. Only the creator and the operator see these lanes. */
import { toTimestamp, toTimestampOrNull } from '../../platform/clock.ts';
import { connectionTreatments, isWithheld } from '../events/index.ts';
import type { Lane, LaneMissing, LaneStep, ProgramFacts, ReadEvent } from './model.ts';

export const programLane = ({ id, label }: ProgramFacts): Lane => ({ id, kind: 'program', name: label, url: null });

export function programSteps(programs: readonly ProgramFacts[], events: readonly ReadEvent[]): LaneStep[] {
  return programs.flatMap(({ id, sends }) =>
    events.flatMap(({ sequence, type }): LaneStep[] => {
      const at = sends.get(sequence);
      if (at === undefined) return [];
      return [{ lane: id, at: toTimestamp(at), kind: 'program', outcome: 'sent', detail: { type, sequence } }];
    }),
  );
}

/** A program gets a tip that was held when it is approved. */
export function programsMissing(
  programs: readonly ProgramFacts[],
  main: ReadEvent | undefined,
  events: readonly ReadEvent[],
  newest: number,
): LaneMissing[] {
  const awaited = events.find(({ type }) => type === 'alert.approved') ?? main;
  if (!awaited || !connectionTreatments.has(awaited.type)) return [];
  return programs.flatMap((program): LaneMissing[] => {
    if (program.sends.has(awaited.sequence)) return [];
    const { reason, since } = whyNotSent(program, awaited, newest);
    const ids = { webhook_id: null, event_id: awaited.id };
    return [{ lane: program.id, kind: 'program', reason, since: toTimestampOrNull(since), ...ids }];
  });
}

interface Why {
  readonly reason: LaneMissing['reason'];
  readonly since: number | null;
}

function whyNotSent(program: ProgramFacts, { type, at, sequence, data }: ReadEvent, newest: number): Why {
  const { tip, alert } = data;
  if (program.createdAt > at) return { reason: 'added_later', since: program.createdAt };
  if (tip && isWithheld(type, tip.alert?.status)) return { reason: 'not_shown', since: null };
  if (type !== 'alert.test' && ((tip ?? alert)?.amount_minor ?? 0) < program.minimumMinor)
    return { reason: 'below_minimum', since: null };
  if (sequence <= newest - program.keptEvents) return { reason: 'not_kept', since: null };
  // While it is connected, the last use is when it was.
  if (program.connected && (program.lastUsedAt ?? at) <= at) return { reason: 'waiting', since: at };
  return { reason: 'no_program', since: program.connected ? null : program.lastUsedAt };
}
