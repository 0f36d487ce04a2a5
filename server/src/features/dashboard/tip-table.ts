import { table } from '../../platform/web/blocks.ts';
import { money, type Times } from '../../platform/web/format.ts';
import { type Html, html } from '../../platform/web/html.ts';
import type { Lang } from '../../platform/web/i18n.ts';
import type { Tip } from '../tips/index.ts';
import { dashboardWords } from './words.ts';

export function tipTable(tips: readonly Tip[], o: { caption: string; lang: Lang; times: Times }): Html {
  const t = dashboardWords(o.lang);
  const list = table({
    caption: o.caption,
    columns: [
      { label: t('when') },
      { label: t('from') },
      { label: t('amount'), numeric: true },
      { label: t('message') },
      { label: t('source') },
    ],
    rows: tips.map((tip) => [
      o.times.time(new Date(tip.created_at), o.lang),
      html`${tip.display_name ?? tip.name}`,
      html`${money(tip.amount_minor)}`,
      html`${tip.message ?? ''}`,
      html`${tip.source.app_name ?? t('operator')}`,
    ]),
    keys: tips.map(({ id }) => id),
  });
  return html`<div class="tips">!${list}</div>`;
}
