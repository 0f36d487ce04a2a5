import type { Assets } from '../../platform/web/assets.ts';
import { card, copyable } from '../../platform/web/blocks.ts';
import { attributes, type Html, html } from '../../platform/web/html.ts';
import type { Lang } from '../../platform/web/i18n.ts';
import type { Period } from '../tips/index.ts';
import { widgetCardWords, widgetWords } from './widget-words.ts';
import type { WidgetName, WidgetOptions } from './widgets.ts';

const names = { day: 'Day', month: 'Month', all: 'All' } as const satisfies Record<Period, string>;

/** The heading of a widget; a goal has its own title. */
function headingOf(widget: WidgetName, { period }: WidgetOptions, lang: Lang): string {
  const t = widgetWords(lang);
  if (widget === 'goal') return '';
  return widget === 'latest' ? t('latest') : t(`${widget}${names[period]}`);
}

/** The page of a widget: empty and transparent until its script has read the state. */
export function createWidgetPage(assets: Assets) {
  const own = (path: string) => assets.add(new URL(path, import.meta.url));
  const fonts = own('../../platform/web/fonts.css');
  const style = own('./widget.css');
  const script = own('./browser/widget.ts');

  return (creatorId: string, widget: WidgetName, options: WidgetOptions, lang: Lang): Html => html`<!doctype html>
<html lang="${lang}">
<head>
<meta charset="utf-8">
<meta name="robots" content="noindex">
<title>Namjai widget</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${fonts()}">
<link rel="stylesheet" href="${style()}">
<script type="module" src="${script()}"></script>
</head>
<body!${attributes({ 'data-creator': creatorId, 'data-heading': headingOf(widget, options, lang) })}></body>
</html>
`;
}

const addresses = [
  ['goal', 'goal', ''],
  ['latest', 'latest', ''],
  ['topDay', 'top', 'period=day'],
  ['topMonth', 'top', 'period=month'],
  ['topAll', 'top', 'period=all'],
  ['totalDay', 'total', 'period=day'],
  ['totalMonth', 'total', 'period=month'],
  ['totalAll', 'total', 'period=all'],
] as const;

/** The addresses of all widgets. `address` is that of the overlay, if the creator has asked to see it. */
export function widgetsCard(o: { lang: Lang; address: string | undefined; copy: string; copied: string }): Html {
  const t = widgetCardWords(o.lang);
  const { address } = o;
  if (address === undefined)
    return card({
      id: 'widgets',
      title: t('title'),
      intro: t('intro'),
      body: html`<p class="hint">${t('hidden')}</p>`,
    });
  const fields = addresses.map(([label, widget, query]) =>
    copyable({
      id: `widget-${label}`,
      label: t(label),
      value: `${address}/${widget}?${[query, `lang=${o.lang}`].filter(Boolean).join('&')}`,
      copy: o.copy,
      copied: o.copied,
    }),
  );
  const body = html`<div class="columns">!${fields}</div><p class="hint">${t('hint')}</p>`;
  return card({ id: 'widgets', title: t('title'), intro: t('intro'), body });
}
