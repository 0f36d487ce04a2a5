import { button, card, confirm, copyable, rows, written } from '../../platform/web/blocks.ts';
import { oneLine } from '../../platform/web/browser/text.ts';
import type { Times } from '../../platform/web/format.ts';
import { buttonForm, field, form } from '../../platform/web/forms.ts';
import { type Html, html } from '../../platform/web/html.ts';
import type { Lang } from '../../platform/web/i18n.ts';
import type { ModeratorLink } from './moderators.ts';
import type { T } from './words.ts';

export interface ModeratorsView {
  readonly t: T;
  readonly lang: Lang;
  readonly csrf: string;
  /** Of the form that makes a link. */
  readonly key: string;
  readonly times: Times;
  readonly base: string;
  readonly links: readonly ModeratorLink[];
  /** Set only right after a link was made. */
  readonly address?: string | undefined;
  readonly typed?: string;
  readonly wrong?: string | undefined;
}

/** The links of moderators, on the creator's page only. */
export function moderatorsCard(o: ModeratorsView): Html {
  const { t, csrf, base } = o;
  const items = o.links.map(({ id, title, created_at }) => ({
    title: written(title, oneLine),
    text: html`${t('made', { date: o.times.dateText(new Date(created_at), o.lang) })}`,
    aside: confirm({
      summary: t('revoke'),
      text: t('revokeText'),
      action: buttonForm({ action: `${base}/moderators/${id}/revoke`, csrf, label: t('revoke'), kind: 'danger' }),
    }),
  }));
  const fresh = o.address
    ? html`<div class="fresh-link">!${copyable({ id: 'moderator-link', label: t('newLink'), value: o.address, copy: t('copy'), copied: t('copied') })}<p class="hint">${t('newLinkText')}</p></div>`
    : '';
  const add = html`
!${field({ name: 'title', label: t('moderatorTitle'), hint: t('moderatorTitleHint'), value: o.typed, error: o.wrong, maxlength: 80 })}
<div class="actions">!${button(t('add'), { kind: 'plain' })}</div>`;
  return card({
    title: t('moderators'),
    intro: t('moderatorsText'),
    body: html`!${fresh}!${items.length > 0 ? rows(items) : html`<p class="hint">${t('noLinks')}</p>`}!${form({ action: `${base}/moderators`, csrf, key: o.key, body: add })}`,
    id: 'moderators',
  });
}
