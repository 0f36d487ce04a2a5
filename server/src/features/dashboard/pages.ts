import type { FastifyInstance } from 'fastify';
import type { Limiter } from '../../platform/limiter/limiter.ts';
import { card, heading, linkButton } from '../../platform/web/blocks.ts';
import type { Times } from '../../platform/web/format.ts';
import { buttonForm } from '../../platform/web/forms.ts';
import { html } from '../../platform/web/html.ts';
import { PageError } from '../../platform/web/page-error.ts';
import type { Pages } from '../accounts/index.ts';
import { limits } from '../oauth/index.ts';
import type { Overlays } from '../overlay/index.ts';
import { SseConnection, type Streams } from '../sockets/index.ts';
import type { Tips } from '../tips/index.ts';
import { overview } from './views.ts';
import { dashboardWords } from './words.ts';

export interface DashboardParts {
  readonly pages: Pages;
  readonly tips: Tips;
  readonly overlays: Overlays;
  readonly times: Times;
  readonly limiter: Limiter;
  readonly signup: 'open' | 'closed';
}

const latestTips = 20;
const chartedDays = 30;
/** For all open dashboards of a creator together. Each refreshes at most once a second. */
const refreshLimit = { limit: 300, windowMs: 60_000 };

/** / and /dashboard. */
export function dashboardPages(
  scope: FastifyInstance,
  { pages, tips, overlays, times, limiter, signup }: DashboardParts,
): void {
  const style = pages.assets.add(new URL('./dashboard.css', import.meta.url));
  const script = pages.assets.add(new URL('./browser/live.ts', import.meta.url));
  const head = () => html`<link rel="stylesheet" href="${style()}">`;

  scope.get('/', async (request, reply) => {
    if (pages.session(request)) return reply.redirect('/dashboard', 303);
    const t = dashboardWords(pages.lang(request));
    const actions = html`!${linkButton(t('signIn'), '/login', 'primary')}!${signup === 'open' ? linkButton(t('signUp'), '/signup') : ''}`;
    const body = html`
      !${heading({ title: t('welcomeTitle'), intro: t('welcomeText'), actions })}
      !${card({ title: t('forCreators'), intro: t('forCreatorsText'), body: '' })}
      !${card({ title: t('forDevelopers'), intro: t('forDevelopersText'), body: '', actions: linkButton(t('docs'), '/docs') })}`;
    return pages.show(request, reply, { title: t('welcomeTitle'), body });
  });

  scope.get('/dashboard', async (request, reply) => {
    const { creatorId, displayName } = pages.requireSession(request);
    const { allowed, resetSeconds } = await limiter.take(`dashboard:${creatorId}`, refreshLimit);
    if (!allowed) throw new PageError(429, { headers: { 'retry-after': String(resetSeconds) } });
    const lang = pages.lang(request);
    const t = dashboardWords(lang);
    const [totals, days, page] = await Promise.all([
      tips.stats(creatorId),
      tips.days(creatorId, chartedDays),
      tips.page(creatorId, { from: null, to: null }, null, latestTips),
    ]);
    const test = buttonForm({
      action: '/dashboard/test-alert',
      csrf: pages.csrf(request, reply),
      label: t('testAlert'),
    });
    const body = html`
      !${heading({ title: t('title'), intro: t('hello', { name: displayName }), actions: html`<span class="badge ok" data-live-badge hidden>${t('live')}</span>!${test}` })}
      !${overview({ totals, days, tips: page.tips, lang, times })}`;
    return pages.show(request, reply, { title: t('title'), nav: 'dashboard', head: head(), modules: [script()], body });
  });

  scope.post('/dashboard/test-alert', async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const t = dashboardWords(pages.lang(request));
    // The limit of an app, shared by all pages that send alerts.
    const { allowed } = await limiter.take(`dashboard-alert:${creatorId}`, limits.alerts);
    if (!allowed) return pages.redirect(reply, '/dashboard', { tone: 'warn', text: t('testTooMany') });
    const seen = (await overlays.sendTest(creatorId)) > 0;
    return pages.redirect(reply, '/dashboard', {
      tone: seen ? 'ok' : 'warn',
      text: t(seen ? 'testSent' : 'testUnseen'),
    });
  });
}

/** The most dashboards of one creator that are open at once, over all nodes. */
const maxDashboards = 20;

/**
 * /dashboard/stream: the creator's tips as Server-Sent Events, until the session ends. Only our own pages can read it: the
 * cookie is SameSite, and there is no CORS.
 */
export function liveRoute(scope: FastifyInstance, { pages, streams }: { pages: Pages; streams: Streams }): void {
  scope.get('/dashboard/stream', { exposeHeadRoute: false }, async (request, reply) => {
    const { creatorId, id } = pages.requireSession(request);
    const connection = new SseConnection(reply.raw, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-accel-buffering': 'no',
      'x-request-id': request.id,
    });
    const { subscriber, refusal } = streams.subscribe(
      {
        creatorId,
        kind: 'stream',
        slots: { key: `dashboard:${creatorId}`, max: maxDashboards },
        permission: { key: `session:${id}`, isAllowed: () => pages.stillSignedIn(request) },
        wants: (type) => type === 'tip.created',
      },
      connection,
      undefined,
    );
    reply.raw.once('close', () => subscriber.leave());
    const refused = (await refusal) ?? connection.refused;
    if (refused) throw new PageError(refused === 'too_many' ? 429 : 502);
    reply.hijack();
  });
}
