import { card, definitions, heading, linkButton } from '../../platform/web/blocks.ts';
import { money } from '../../platform/web/format.ts';
import { field } from '../../platform/web/forms.ts';
import { type Html, html } from '../../platform/web/html.ts';
import type { AppRow } from '../apps/index.ts';
import { isSequenced } from '../events/index.ts';
import { type TraceView, traceVerdict, traceView, webhookVerdict } from '../trace/index.ts';
import type { Delivery } from '../webhooks/index.ts';
import { traceWords as words } from './trace-words.ts';
import type { View } from './views.ts';

const pathOf = (clientId: string): string => `/developers/apps/${clientId}/trace`;
const example = 'tip_01kaxk2t5v7f9sd3n8q6w4y0zr';

/** A card on the page of the app that leads to the trace of any tip or event. */
export function traceCard({ lang }: View, app: AppRow): Html {
  const t = words(lang);
  return card({ title: t('title'), intro: t('cardText'), body: searchForm(lang, app.id, '') });
}

/** A link to the trace of a delivered event, if the log of a creator has it. `appPath` is the page of the app. */
export const traceLink = ({ lang }: View, appPath: string, { event_id, event_type }: Delivery): Html =>
  isSequenced(event_type) ? linkButton(words(lang)('see'), `${appPath}/trace?id=${event_id}`) : '';

function searchForm(lang: View['lang'], clientId: string, value: string, error?: string): Html {
  const t = words(lang);
  const id = field({
    ...{ name: 'id', label: t('id'), hint: t('idHint', { example }), value, error },
    ...{ maxlength: 60, autocomplete: 'off' },
  });
  return html`<form method="get" action="${pathOf(clientId)}" role="search">!${id}<div class="actions"><button class="button primary" type="submit">${t('submit')}</button></div></form>`;
}

export function tracePage(
  { lang }: View,
  app: AppRow,
  { id, wrong, happened }: { id: string; wrong: string | undefined; happened: Html },
): Html {
  const t = words(lang);
  const top = heading({
    title: t('title'),
    intro: t('intro'),
    actions: linkButton(t('back', { app: app.name }), `/developers/apps/${app.id}`),
  });
  return html`!${top}!${card({ body: searchForm(lang, app.id, id, wrong) })}!${happened}`;
}

export async function traceResult({ lang, times }: View, view: TraceView, pause: () => Promise<void>): Promise<Html> {
  const t = words(lang);
  const shown = { view, lang, times };
  const { tip } = view;
  const about: [string, Html][] = tip
    ? [[t('tip'), html`${money(tip.amount_minor)} <code translate="no">${tip.id}</code>`]]
    : [[t('event'), html`<code translate="no">${view.id}</code>`]];
  const happened = await traceView(shown, pause);
  return html`!${traceVerdict(shown)}!${webhookVerdict(shown)}!${card({ body: definitions(about) })}!${happened}`;
}
