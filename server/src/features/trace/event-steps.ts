/** What became of an event that is about no tip: of a test alert, mostly. */
import { toTimestamp } from '../../platform/clock.ts';
import type { ScreenedAlert } from '../events/index.ts';
import type { LaneMissing, LaneStep, ReadEvent } from './model.ts';
import { eventStep } from './tip-steps.ts';

export function eventSteps(
  main: ReadEvent,
  all: readonly ReadEvent[],
): { steps: LaneStep[]; missing: readonly LaneMissing[] } {
  const settled = all.filter(({ type }) => type === 'alert.shown' || type === 'alert.skipped');
  const steps = all.map(eventStep);
  const connected = main.data.alert?.overlays_connected;
  for (const { type, at, data } of settled)
    steps.push({
      lane: 'overlay',
      at: data.shown_at ?? toTimestamp(at),
      kind: 'overlay',
      outcome: type === 'alert.shown' ? 'shown' : 'skipped',
      detail: { reason: data.reason ?? null, overlay_open: connected === undefined ? null : connected > 0 },
    });
  const reason = settled.length > 0 || main.type !== 'alert.test' ? null : whyNotShown(main);
  const missing = { lane: 'overlay', kind: 'overlay', since: null, webhook_id: null, event_id: main.id } as const;
  return { steps, missing: reason ? [{ ...missing, reason }] : [] };
}

/** A test alert that would be held is not played, and no overlay plays one from before it was opened. */
function whyNotShown({ screened, data }: ReadEvent): LaneMissing['reason'] {
  const shown: ScreenedAlert | null = JSON.parse(screened ?? 'null');
  if (shown?.held) return 'held';
  return data.alert?.overlays_connected === 0 ? 'no_overlay' : 'waiting';
}
