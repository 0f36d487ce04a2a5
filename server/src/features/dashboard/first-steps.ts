import { card } from '../../platform/web/blocks.ts';
import { buttonForm } from '../../platform/web/forms.ts';
import { type Html, html } from '../../platform/web/html.ts';
import type { Lang } from '../../platform/web/i18n.ts';
import type { Recovery } from '../accounts/index.ts';
import type { Grants } from '../oauth/index.ts';
import type { Overlays } from '../overlay/index.ts';
import type { Profiles } from '../profile/index.ts';
import { stepWords } from './step-words.ts';
import { newTipPath } from './tip-form.ts';

export interface FirstStepsParts {
  readonly overlays: Overlays;
  readonly profiles: Profiles;
  readonly grants: Grants;
  readonly recovery: Recovery;
}

const places = {
  look: '/dashboard/overlay/looks',
  obs: '/docs/overlay',
  test: '/dashboard/overlay',
  page: '/dashboard/profile',
  tip: newTipPath,
  codes: '/account#recovery',
} as const;

type Step = keyof typeof places;
const steps = Object.keys(places) as Step[];

/**
 * What a new creator has done. Nothing of it is stored: each step is seen in what it leaves behind. A voided tip counts as
 * well.
 */
export async function stepsDone(
  { overlays, profiles, grants, recovery }: FirstStepsParts,
  creatorId: string,
  hasTips: boolean,
): Promise<ReadonlySet<Step>> {
  const [setup, profile, connections, codesLeft] = await Promise.all([
    overlays.setup(creatorId),
    profiles.profile(creatorId),
    hasTips ? [] : grants.connections(creatorId),
    recovery.left(creatorId),
  ]);
  const done: Record<Step, boolean> = {
    look: setup.lookChanged,
    obs: setup.opened,
    test: setup.shown,
    page: profile.page_url !== null,
    tip: hasTips || connections.length > 0,
    codes: codesLeft > 0,
  };
  return new Set(steps.filter((step) => done[step]));
}

/** Nothing once all is done. */
export function firstSteps(done: ReadonlySet<Step>, lang: Lang, csrf: string): Html {
  if (done.size === steps.length) return '';
  const t = stepWords(lang);
  const mark = (word: 'done' | 'open') => html`<span class="visually-hidden">${t(word)}</span>`;
  const openStep = (step: Step) => html`
<li class="open"><a href="${places[step]}"><strong>${t(step)}</strong><span>${t(`${step}Text`)}</span></a>!${mark('open')}</li>`;
  const doneStep = (step: Step) => html`
<li class="done"><a href="${places[step]}">${t(step)}</a>!${mark('done')}</li>`;
  return card({
    title: t('title'),
    intro: t('count', { done: done.size, all: steps.length }),
    body: html`
!${done.size > 0 ? html`<ul class="steps-done">!${steps.filter((step) => done.has(step)).map(doneStep)}</ul>` : ''}
<ol class="steps">!${steps.filter((step) => !done.has(step)).map(openStep)}</ol>`,
    actions: buttonForm({ action: '/dashboard/steps/hide', csrf, label: t('hide'), kind: 'plain' }),
  });
}
