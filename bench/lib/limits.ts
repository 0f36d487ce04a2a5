import { limits } from '../../server/src/features/oauth/index.ts';
import type { Bench } from './bench.ts';

/** How many requests one run may send so that all runs of a row together stay below the limits of its pairs. */
export function roomPerRun({ rounds, profiles }: Bench, pairs: number, group: keyof typeof limits): number {
  const runs = rounds + (profiles ? 2 : 1);
  return Math.floor(((limits[group].limit - 2) * pairs) / runs);
}
