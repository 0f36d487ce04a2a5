import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../errors.ts';
import type { Limiter } from '../../platform/limiter/limiter.ts';
import { createPauses } from '../../platform/pauses.ts';
import { card, definitions, heading, linkButton, stylesheet } from '../../platform/web/blocks.ts';
import { money } from '../../platform/web/format.ts';
import { field } from '../../platform/web/forms.ts';
import { type Html, html } from '../../platform/web/html.ts';
import type { Pages } from '../accounts/index.ts';
import type { AppRow } from '../apps/index.ts';
import { isSequenced } from '../events/index.ts';
import type { Grants } from '../oauth/index.ts';
import {
  countTracePage,
  type Traces,
  type TraceView,
  traceStyle,
  traceVerdict,
  traceView,
  webhookVerdict,
} from '../trace/index.ts';
import type { Delivery } from '../webhooks/index.ts';
import { traceWords as words } from './trace-words.ts';
import type { View } from './views.ts';

export interface TracePagesParts {
  readonly pages: Pages;
  readonly grants: Grants;
  readonly traces: Traces;
  readonly limiter: Limiter;
  readonly viewOf: (request: FastifyRequest, reply: FastifyReply) => View;
  readonly ownedApp: (ownerId: string, clientId: string) => Promise<AppRow>;
}

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

interface AppRoute {
  Params: { clientId: string };
  /** A repeated parameter is an array. */
  Querystring: { id?: unknown };
}

/** The way of a tip, as the app itself may read it. */
export function tracePages(scope: FastifyInstance, parts: TracePagesParts): void {
  const { pages, grants, traces, limiter, viewOf, ownedApp } = parts;
  const style = traceStyle(pages.assets);

  /** Nothing if the app may not read tips or events of that creator now. */
  async function find(clientId: string, id: string): Promise<TraceView | undefined> {
    const creatorId = await traces.creatorOf(id);
    if (creatorId === undefined) return undefined;
    const grant = (await grants.connections(creatorId)).find(({ client_id }) => client_id === clientId);
    if (!grant?.scope.split(' ').includes(id.startsWith('tip_') ? 'tips.read' : 'events.subscribe')) return undefined;
    const read = id.startsWith('tip_') ? traces.ofTip : traces.ofEvent;
    return read(creatorId, id, { clientId }).catch((error) => {
      if (error instanceof ApiError && error.code === 'not_found') return undefined;
      throw error;
    });
  }

  scope.get<AppRoute>('/developers/apps/:clientId/trace', async (request, reply) => {
    const { creatorId: ownerId } = pages.requireSession(request);
    const app = await ownedApp(ownerId, request.params.clientId);
    const view = viewOf(request, reply);
    const t = words(view.lang);
    const id = typeof request.query.id === 'string' ? request.query.id.trim() : '';
    if (id !== '') await countTracePage(limiter, ownerId);
    const found = id === '' ? undefined : await find(app.id, id);
    const happened = found ? await result(view, found, createPauses(ownerId)) : '';
    const wrong = id !== '' && !found ? t('notFound') : undefined;
    const top = heading({
      title: t('title'),
      intro: t('intro'),
      actions: linkButton(t('back', { app: app.name }), `/developers/apps/${app.id}`),
    });
    return pages.show(request, reply, {
      status: wrong ? 404 : 200,
      title: t('title'),
      nav: 'developers',
      head: stylesheet(style()),
      body: html`!${top}!${card({ body: searchForm(view.lang, app.id, id, wrong) })}!${happened}`,
    });
  });
}

async function result({ lang, times }: View, view: TraceView, pause: () => Promise<void>): Promise<Html> {
  const t = words(lang);
  const shown = { view, lang, times };
  const { tip } = view;
  const about: [string, Html][] = tip
    ? [[t('tip'), html`${money(tip.amount_minor)} <code translate="no">${tip.id}</code>`]]
    : [[t('event'), html`<code translate="no">${view.id}</code>`]];
  const happened = await traceView(shown, pause);
  return html`!${traceVerdict(shown)}!${webhookVerdict(shown)}!${card({ body: definitions(about) })}!${happened}`;
}
