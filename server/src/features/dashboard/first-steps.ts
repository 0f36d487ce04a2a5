import { StorageUnavailable } from '../../platform/db/database.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Recovery } from '../accounts/index.ts';
import type { Grants } from '../oauth/index.ts';
import type { Overlays } from '../overlay/index.ts';
import type { Profiles } from '../profile/index.ts';
import { type Step, steps } from './first-steps-views.ts';
import { stepsOf, writes } from './repo.ts';

export interface FirstStepsParts extends Pick<Platform, 'db' | 'clock'> {
  readonly overlays: Overlays;
  readonly profiles: Profiles;
  readonly grants: Grants;
  readonly recovery: Recovery;
}

/** The steps that a new creator has done. A step that was found done once is stored, and stays done. */
export async function stepsDone(
  parts: FirstStepsParts,
  creatorId: string,
  hasTips: boolean,
): Promise<ReadonlySet<Step>> {
  const { db, clock } = parts;
  const stored = new Set(await stepsOf(db, creatorId));
  const left = steps.filter((step) => !stored.has(step));
  if (left.length === 0) return new Set(steps);
  const seen = await stepsSeen(parts, creatorId, hasTips);
  const fresh = left.filter((step) => seen[step]);
  if (fresh.length > 0)
    await db.write(writes.addSteps, creatorId, fresh, clock()).catch((error) => {
      // The page can be read while nothing can be written. The next request of the page stores the steps.
      if (!(error instanceof StorageUnavailable)) throw error;
    });
  return new Set(steps.filter((step) => stored.has(step) || seen[step]));
}

async function stepsSeen(
  { overlays, profiles, grants, recovery }: FirstStepsParts,
  creatorId: string,
  hasTips: boolean,
): Promise<Record<Step, boolean>> {
  const [setup, profile, connections, codesLeft] = await Promise.all([
    overlays.setup(creatorId),
    profiles.profile(creatorId),
    hasTips ? [] : grants.connections(creatorId),
    recovery.left(creatorId),
  ]);
  return {
    look: setup.lookChanged,
    obs: setup.opened,
    test: setup.shown,
    page: profile.page_url !== null,
    tip: hasTips || connections.length > 0,
    codes: codesLeft > 0,
  };
}
