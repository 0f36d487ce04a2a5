import type { FastifyInstance } from 'fastify';
import { button, card, emptyState, heading, linkButton, stats, table } from '../../platform/http/pages/blocks.ts';
import { money, type Times } from '../../platform/http/pages/format.ts';
import { form } from '../../platform/http/pages/forms.ts';
import { type Html, html } from '../../platform/http/pages/html.ts';
import type { Limiter } from '../../platform/limiter/limiter.ts';
import type { Pages } from '../accounts/index.ts';
import type { Overlays } from '../overlay/index.ts';
import type { Tips } from '../tips/index.ts';
import { dashboardWords } from './words.ts';

export interface DashboardParts {
  readonly pages: Pages;
  readonly tips: Tips;
  readonly overlays: Overlays;
  readonly times: Times;
  readonly limiter: Limiter;
  readonly signup: 'open' | 'closed';
}

const latest = 20;
/** Like POST /v1/alerts, for the button. */
const alertLimit = { limit: 30, windowMs: 60_000 };

/** / and /dashboard. */
export function dashboardPages(
  scope: FastifyInstance,
  { pages, tips, overlays, times, limiter, signup }: DashboardParts,
): void {
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
    const lang = pages.lang(request);
    const t = dashboardWords(lang);
    const [totals, page] = await Promise.all([
      tips.stats(creatorId),
      tips.page(creatorId, { from: null, to: null }, null, latest),
    ]);
    const test = form({
      action: '/dashboard/test-alert',
      csrf: pages.csrf(request, reply),
      body: button(t('testAlert')),
    });
    const body = html`
      !${heading({ title: t('title'), intro: t('hello', { name: displayName }), actions: test })}
      !${stats([
        { label: t('thisMonth'), value: money(totals.current_month.total_minor) },
        { label: t('tipsThisMonth'), value: totals.current_month.count.toLocaleString('en') },
        { label: t('allTime'), value: money(totals.all_time.total_minor) },
        { label: t('tipsAllTime'), value: totals.all_time.count.toLocaleString('en') },
      ])}
      !${card({ title: t('recent'), body: page.tips.length ? tipTable(page.tips) : nothingYet() })}`;
    return pages.show(request, reply, { title: t('title'), nav: 'dashboard', body });

    function tipTable(items: typeof page.tips): Html {
      return table({
        caption: t('recent'),
        columns: [
          { label: t('when') },
          { label: t('from') },
          { label: t('amount'), numeric: true },
          { label: t('message') },
          { label: t('source') },
        ],
        rows: items.map((tip) => [
          times.time(new Date(tip.created_at), lang),
          html`${tip.display_name ?? tip.name}`,
          html`${money(tip.amount_minor)}`,
          html`${tip.message ?? ''}`,
          html`${tip.source.app_name ?? t('operator')}`,
        ]),
      });
    }

    function nothingYet(): Html {
      const action = linkButton(t('overlay'), '/dashboard/overlay', 'primary');
      return emptyState({ title: t('empty'), text: t('emptyText'), action });
    }
  });

  scope.post('/dashboard/test-alert', async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const t = dashboardWords(pages.lang(request));
    const { allowed } = await limiter.take(`dashboard-alert:${creatorId}`, alertLimit);
    if (!allowed) return pages.redirect(reply, '/dashboard', { tone: 'warn', text: t('testTooMany') });
    await overlays.sendTest(creatorId);
    return pages.redirect(reply, '/dashboard', { tone: 'ok', text: t('testSent') });
  });
}
