import { button, card, emptyState, fold, heading, linkButton, notice, writtenName } from '../../platform/web/blocks.ts';
import { displayName } from '../../platform/web/browser/text.ts';
import { money } from '../../platform/web/format.ts';
import { form } from '../../platform/web/forms.ts';
import { type Html, html } from '../../platform/web/html.ts';
import type { ErasureProgress } from '../erasure/index.ts';
import { erasedName } from '../events/index.ts';
import type { Tip } from '../tips/index.ts';
import type { EraseT } from './erase-words.ts';
import { tipPath, tipsHome } from './tip-paths.ts';

export const erasePath = (tipId: string): string => `${tipPath(tipId)}/erase`;
export const erasingPath = `${tipsHome}/erasing`;

/** What a creator may erase from the page of a tip. */
export const erasable = ['tip', 'name', 'display_name'] as const;
export type Erasable = (typeof erasable)[number];

/** The names of a tip by which others can be found. */
export const namesOf = ({ name, display_name: shown }: Pick<Tip, 'name' | 'display_name'>): [Erasable, string][] => [
  ...(shown === null || shown === name ? [] : [['display_name', shown] satisfies [Erasable, string]]),
  ['name', name],
];

/** Asks what to erase: the words of one tip, or of all that have one of its names. */
export function eraseView({ tip, csrf, t }: { readonly tip: Tip; readonly csrf: string; readonly t: EraseT }): Html {
  const ask = (what: Erasable, label: string) =>
    form({
      action: erasePath(tip.id),
      csrf,
      body: html`<div class="actions">!${button(label, { kind: 'danger', name: 'what', value: what })}</div>`,
    });
  const facts = ['amountStays', 'shownNowhere', 'everywhere', 'notTakenBack', 'nameUnknown'] as const;
  const from = { amount: money(tip.amount_minor), name: displayName(tip.display_name, tip.name) };
  return html`
!${heading({ title: t('title'), intro: t('intro'), actions: linkButton(t('back'), tipPath(tip.id)) })}
!${card({ title: t('what'), body: html`<ul class="bullets">!${facts.map((fact) => html`<li>${t(fact)}</li>`)}</ul><p><strong>${t('final')}</strong></p>` })}
!${card({ title: t('oneTitle'), intro: t('oneText', from), body: ask('tip', t('one')) })}
!${namesOf(tip).map(([what, name]) =>
    card({ title: t('allTitle', { name: displayName(name) }), intro: t('allText'), body: ask(what, t('all')) }),
  )}`;
}

/** How far the erasure of all tips of a name has come. */
export function erasingView(erasure: ErasureProgress | undefined, t: EraseT): Html {
  const top = heading({ title: t('title'), actions: linkButton(t('allTips'), tipsHome) });
  if (!erasure) return html`!${top}!${emptyState({ title: t('none'), text: t('noneText'), alone: true })}`;
  const { searched, total, erased } = erasure;
  if (erasure.finished_at !== null) {
    const done = erased === 1 ? t('finishedOne') : t('finished', { erased });
    return html`!${top}!${card({ title: t('finishedTitle'), body: notice('ok', done) })}`;
  }
  const body = html`
<progress max="${Math.max(total, 1)}" value="${Math.min(searched, total)}" aria-labelledby="erasing"></progress>
<p id="erasing">${t('running', { searched, total, erased })}</p>
<p class="hint">${t('runningHint')}</p>`;
  return html`!${top}!${card({ title: t('runningTitle'), body, actions: linkButton(t('again'), erasingPath) })}`;
}

/** How many names of a page of results are offered. */
const maxNames = 10;

/** Leads from the tips that a search has found to the erasure of all tips of their names. */
export function supportersToErase(tips: readonly Tip[], t: EraseT): Html {
  const byName = new Map<string, Tip>();
  for (const tip of tips) {
    const name = tip.display_name ?? tip.name;
    if (name !== erasedName && !byName.has(name)) byName.set(name, tip);
  }
  if (byName.size === 0) return '';
  const links = [...byName]
    .slice(0, maxNames)
    .map(([name, tip]) => html`<li><a href="${erasePath(tip.id)}">!${writtenName(name)}</a></li>`);
  return fold({ summary: t('names'), body: html`<ul class="bullets">!${links}</ul>` });
}
