import { StorageUnavailable } from '../../platform/db/database.ts';
import type { Platform } from '../../platform/platform.ts';
import { card } from '../../platform/web/blocks.ts';
import { buttonForm } from '../../platform/web/forms.ts';
import { type Html, html } from '../../platform/web/html.ts';
import type { Lang } from '../../platform/web/i18n.ts';
import type { Recovery } from '../accounts/index.ts';
import type { Grants } from '../oauth/index.ts';
import type { Overlays } from '../overlay/index.ts';
import type { Profiles } from '../profile/index.ts';
import { stepWords } from './first-steps-words.ts';
import { stepsOf, writes } from './repo.ts';
import { newTipPath } from './tip-form.ts';

export interface FirstStepsParts extends Pick<Platform, 'db' | 'clock'> {
  readonly overlays: Overlays;
  readonly profiles: Profiles;
  readonly grants: Grants;
  readonly recovery: Recovery;
}

const stepPaths = {
  look: '/dashboard/overlay/looks',
  obs: '/docs/overlay',
  test: '/dashboard/overlay',
  page: '/dashboard/profile',
  tip: newTipPath,
  codes: '/account#recovery',
} as const;

type Step = keyof typeof stepPaths;
const steps = Object.keys(stepPaths) as Step[];

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

/** Nothing once all is done. */
export function firstSteps(done: ReadonlySet<Step>, lang: Lang, csrf: string): Html {
  if (done.size === steps.length) return '';
  const t = stepWords(lang);
  const mark = (word: 'done' | 'open') => html`<span class="visually-hidden">${t(word)}</span>`;
  const openStep = (step: Step) => html`
<li class="open"><a href="${stepPaths[step]}"><strong>${t(step)}</strong><span>${t(`${step}Text`)}</span></a>!${mark('open')}</li>`;
  const doneStep = (step: Step) => html`
<li class="done"><a href="${stepPaths[step]}">${t(step)}</a>!${mark('done')}</li>`;
  return card({
    title: t('title'),
    intro: t('count', { done: done.size, all: steps.length }),
    body: html`
!${done.size > 0 ? html`<ul class="steps-done">!${steps.filter((step) => done.has(step)).map(doneStep)}</ul>` : ''}
<ol class="steps">!${steps.filter((step) => !done.has(step)).map(openStep)}</ol>`,
    actions: buttonForm({ action: '/dashboard/steps/hide', csrf, label: t('hide'), kind: 'plain' }),
  });
}
