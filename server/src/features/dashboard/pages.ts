import type { FastifyInstance } from 'fastify';
import { onceClosed } from '../../platform/http/closed.ts';
import type { Limiter } from '../../platform/limiter/limiter.ts';
import { createPauses } from '../../platform/pauses.ts';
import { stylesheet } from '../../platform/web/blocks.ts';
import type { Times } from '../../platform/web/format.ts';
import { PageError } from '../../platform/web/page-error.ts';
import { limitPage } from '../../platform/web/page-limit.ts';
import type { Pages } from '../accounts/index.ts';
import { pageAlertLimit } from '../alerts/index.ts';
import { type Connections, switchedOffNotice } from '../connections/index.ts';
import { changesTotals } from '../events/index.ts';
import { testWords } from '../overlay/index.ts';
import { pageStream, type Streams } from '../sockets/index.ts';
import { allTips, type Tips } from '../tips/index.ts';
import { type FirstStepsParts, stepsDone } from './first-steps.ts';
import { firstSteps } from './first-steps-views.ts';
import { stepWords } from './first-steps-words.ts';
import { homeView } from './home-views.ts';
import { homeWords } from './home-words.ts';
import { dashboardView } from './views.ts';
import { dashboardWords } from './words.ts';

export interface DashboardParts extends FirstStepsParts {
  readonly pages: Pages;
  readonly tips: Tips;
  readonly connections: Connections;
  readonly times: Times;
  readonly limiter: Limiter;
  readonly signup: 'open' | 'closed';
}

const latestTips = 20;
const chartedDays = 30;
/** For all open dashboards of a creator together. Each refreshes at most once a second. */
const refreshLimit = { limit: 300, windowMs: 60_000 };

/** / and /dashboard. */
export function dashboardPages(scope: FastifyInstance, parts: DashboardParts): void {
  const { pages, tips, connections, overlays, times, limiter, signup } = parts;
  const style = pages.assets.add(new URL('./dashboard.css', import.meta.url));
  const script = pages.assets.add(new URL('./browser/live.ts', import.meta.url));
  const homeStyle = pages.assets.add(new URL('./home.css', import.meta.url));
  const picture = pages.assets.add(new URL('./alert.webp', import.meta.url));
  const head = () => stylesheet(style());

  scope.get('/', async (request, reply) => {
    if (pages.session(request)) return reply.redirect('/dashboard', 303);
    const lang = pages.lang(request);
    return pages.show(request, reply, {
      title: homeWords(lang)('title'),
      width: 'wide',
      head: stylesheet(homeStyle()),
      body: homeView({ lang, signup, picture: picture() }),
    });
  });

  scope.get('/dashboard', async (request, reply) => {
    const { creatorId, displayName } = pages.requireSession(request);
    await limitPage(limiter, `dashboard:${creatorId}`, refreshLimit);
    const lang = pages.lang(request);
    const t = dashboardWords(lang);
    const [totals, days, page, connected] = await Promise.all([
      tips.stats(creatorId),
      tips.days(creatorId, chartedDays),
      tips.page(creatorId, allTips, null, latestTips),
      connections.list(creatorId),
    ]);
    const hidden = /(?:^|;\s*)steps=hidden/.test(request.headers.cookie ?? '');
    const done = hidden ? undefined : await stepsDone(parts, creatorId, page.tips.length > 0);
    // Lets other requests in: writing the page takes as long as one part of the totals.
    await createPauses(creatorId)();
    const csrf = pages.csrf(request, reply);
    const steps = done ? firstSteps(done, lang, csrf) : '';
    const body = dashboardView({
      ...{ displayName, csrf, steps, switchedOff: switchedOffNotice(connected, lang) },
      ...{ totals, days, tips: page.tips, lang, times },
    });
    return pages.show(request, reply, { title: t('title'), nav: 'dashboard', head: head(), modules: [script()], body });
  });

  scope.post('/dashboard/steps/hide', async (request, reply) => {
    pages.requireSession(request);
    const secure = pages.authUrl.startsWith('https:') ? '; Secure' : '';
    reply.header('set-cookie', `steps=hidden; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax${secure}`);
    const text = stepWords(pages.lang(request))('hidden');
    return pages.redirect(reply, '/dashboard', { tone: 'ok', text });
  });

  scope.post('/dashboard/test-alert', async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const { allowed } = await limiter.take(...pageAlertLimit(creatorId));
    const outcome = allowed ? await overlays.sendTest(creatorId) : 'tooMany';
    const text = testWords(pages.lang(request))(outcome);
    return pages.redirect(reply, '/dashboard', { tone: outcome === 'sent' ? 'ok' : 'warn', text });
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
    const connection = pageStream(request, reply);
    const { subscriber, refusal } = streams.subscribe(
      {
        creatorId,
        kind: 'stream',
        slots: { key: `dashboard:${creatorId}`, max: maxDashboards },
        permission: { key: `session:${id}`, isAllowed: () => pages.stillSignedIn(request) },
        wants: changesTotals,
      },
      connection,
      undefined,
    );
    onceClosed(reply.raw, () => subscriber.leave());
    const refused = (await refusal) ?? connection.refused;
    if (refused) throw new PageError(refused === 'too_many' ? 429 : 502);
    reply.hijack();
  });
}
