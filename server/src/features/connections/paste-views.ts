import { card } from '../../platform/web/blocks.ts';
import { type Html, html } from '../../platform/web/html.ts';
import type { Lang } from '../../platform/web/i18n.ts';
import type { DialectName } from './dialects/index.ts';
import { type PasteT, pasteWords } from './paste-words.ts';

const part = (title: string, body: Html): Html => html`<section class="paste"><h3>${title}</h3>!${body}</section>`;

const steps = (items: readonly string[]): Html => html`<ol>!${items.map((item) => html`<li>${item}</li>`)}</ol>`;

const code = (text: string): Html => html`<pre class="wrapped"><code translate="no">${text}</code></pre>`;

/** Where to find the address that the form asks for. */
const whereFrom: Readonly<Record<DialectName, (t: PasteT) => Html>> = {
  discord: (t) => steps([t('discord1'), t('discord2'), t('discord3')]),
  kofi: (t) => html`
!${part(t('firebot'), steps([t('firebot1'), t('firebot2')]))}
!${part(t('make'), steps([t('make1'), t('make2')]))}
!${part(t('own'), steps([t('own1'), t('own2')]))}`,
};

export function addressCard(lang: Lang, kind: DialectName): Html {
  const t = pasteWords(lang);
  return card({ title: t('title'), body: whereFrom[kind](t) });
}

/** Where a stream key goes. */
export function programsCard(lang: Lang, server: string): Html {
  const t = pasteWords(lang);
  return card({
    title: t('title'),
    body: html`!${scripts(t, server)}!${python(t, server)}!${part(t('fixed'), html`<p>${t('fixed1')}</p>`)}`,
    id: 'programs',
  });
}

const scripts = (t: PasteT, server: string): Html =>
  part(
    t('scripts'),
    html`<p>${t('scripts1')}</p>
!${code("io('https://sockets.streamlabs.com?token=' + token, { transports: ['websocket'] })")}
<p>${t('scripts2')}</p>
!${code(`io('${server}?token=njk_…', { transports: ['websocket'] })`)}
<p class="hint">${t('for')}</p>`,
  );

const python = (t: PasteT, server: string): Html =>
  part(t('python'), html`<p>${t('python1')}</p>!${code(`sio.connect('${server}?token=njk_…')`)}`);
