import { card } from '../../platform/web/blocks.ts';
import { buttonForm } from '../../platform/web/forms.ts';
import { type Html, html } from '../../platform/web/html.ts';
import type { Lang } from '../../platform/web/i18n.ts';
import { stepWords } from './first-steps-words.ts';
import { newTipPath } from './tip-paths.ts';

const stepPaths = {
  look: '/dashboard/overlay/looks',
  obs: '/docs/overlay',
  test: '/dashboard/overlay',
  page: '/dashboard/profile',
  tip: newTipPath,
  codes: '/account#recovery',
} as const;

export type Step = keyof typeof stepPaths;
export const steps = Object.keys(stepPaths) as Step[];

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
