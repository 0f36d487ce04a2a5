import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../errors.ts';
import type { Platform } from '../../platform/platform.ts';
import { stylesheet } from '../../platform/web/blocks.ts';
import type { Times } from '../../platform/web/format.ts';
import type { Pages } from '../accounts/index.ts';
import { emptyForm, parseChange, parseGoal, readTyped } from './form.ts';
import type { Goals } from './service.ts';
import { type GoalsView, goalsView, home } from './views.ts';
import { goalWords } from './words.ts';

export interface GoalPagesParts extends Pick<Platform, 'clock' | 'zone'> {
  readonly pages: Pages;
  readonly goals: Goals;
  readonly times: Times;
}

interface GoalRoute {
  Params: { id: string };
}

const listedEnded = 20;

/** /dashboard/goals */
export function goalPages(scope: FastifyInstance, { pages, goals, times, clock, zone }: GoalPagesParts): void {
  const style = pages.assets.add(new URL('./goals.css', import.meta.url));
  const words = (request: FastifyRequest) => goalWords(pages.lang(request));

  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    { status = 200, ...shown }: { status?: number } & Partial<Pick<GoalsView, 'typed' | 'wrong' | 'changing'>> = {},
  ) {
    const { creatorId } = pages.requireSession(request);
    const now = clock();
    const [open, ended] = await Promise.all([goals.open(creatorId), goals.ended(creatorId, listedEnded)]);
    const body = goalsView({
      lang: pages.lang(request),
      csrf: pages.csrf(request, reply),
      key: pages.formKeys.newKey(),
      times,
      now,
      open,
      ended,
      typed: emptyForm(now, zone),
      wrong: {},
      ...shown,
    });
    const head = stylesheet(style());
    return pages.show(request, reply, { status, title: words(request)('title'), nav: 'goals', head, body });
  }

  const done = (request: FastifyRequest, reply: FastifyReply, what: 'added' | 'changed' | 'endDone' | 'removeDone') =>
    pages.redirect(reply, home, { tone: 'ok', text: words(request)(what) });

  scope.get(home, (request, reply) => show(request, reply));

  scope.post(home, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const t = words(request);
    const typed = readTyped(request);
    const parsed = parseGoal(typed, clock(), zone, t);
    if ('wrong' in parsed) return show(request, reply, { status: 422, typed, wrong: parsed.wrong });
    const goal = await goals.add(creatorId, parsed, pages.formKeys.idOf(request, 'gol'));
    if (!goal) return pages.redirect(reply, home, { tone: 'warn', text: t('tooMany') });
    return done(request, reply, 'added');
  });

  scope.post<GoalRoute>(`${home}/:id`, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const { id } = request.params;
    const typed = readTyped(request);
    const parsed = parseChange(typed, words(request));
    if ('wrong' in parsed) return show(request, reply, { status: 422, changing: { id, typed, wrong: parsed.wrong } });
    if (await goals.change(creatorId, id, parsed)) return done(request, reply, 'changed');
    return pages.redirect(reply, home, { tone: 'warn', text: words(request)('endLate') });
  });

  scope.post<GoalRoute>(`${home}/:id/end`, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    if (await goals.end(creatorId, request.params.id)) return done(request, reply, 'endDone');
    return pages.redirect(reply, home, { tone: 'warn', text: words(request)('endLate') });
  });

  scope.post<GoalRoute>(`${home}/:id/delete`, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    if (!(await goals.remove(creatorId, request.params.id))) throw new ApiError('not_found');
    return done(request, reply, 'removeDone');
  });
}
