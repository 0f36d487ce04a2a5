import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Platform } from '../../platform/platform.ts';
import { formText } from '../../platform/web/form-body.ts';
import type { Pages } from '../accounts/index.ts';
import type { Erasure } from '../erasure/index.ts';
import type { Tips } from '../tips/index.ts';
import { erasable, erasePath, eraseView, erasingPath, erasingView, namesOf } from './erase-views.ts';
import { eraseWords } from './erase-words.ts';
import { tipPath, tipsHome } from './tip-paths.ts';

export interface ErasePagesParts extends Pick<Platform, 'limiter'> {
  readonly pages: Pages;
  readonly tips: Tips;
  readonly erasure: Erasure;
}

interface TipRoute {
  Params: { id: string };
}

/** Counts units of 1,000 tips read: erasing all tips of a name reads all, and one tip changes a few rows. */
const limit = { limit: 300, windowMs: 60_000 };
const costOfOne = 3;
const minCostOfName = 30;

const refreshSeconds = '3';

/** /dashboard/tips/{id}/erase and /dashboard/tips/erasing: erase the words of a tip, or of all tips of a name. */
export function erasePages(scope: FastifyInstance, { pages, tips, erasure, limiter }: ErasePagesParts): void {
  const words = (request: FastifyRequest) => eraseWords(pages.lang(request));

  scope.get<TipRoute>(`${tipsHome}/:id/erase`, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const t = words(request);
    const tip = await tips.byId(creatorId, request.params.id);
    if (await tips.isErased(creatorId, tip.id))
      return pages.redirect(reply, tipPath(tip.id), { tone: 'warn', text: t('already') });
    const body = eraseView({ tip, csrf: pages.csrf(request, reply), t });
    return pages.show(request, reply, { title: t('title'), nav: 'dashboard', body });
  });

  async function eraseOne(request: FastifyRequest, reply: FastifyReply, creatorId: string, tipId: string) {
    const t = words(request);
    const erased = await erasure.one(creatorId, tipId);
    const flash = erased ? ({ tone: 'ok', text: t('done') } as const) : ({ tone: 'warn', text: t('already') } as const);
    return pages.redirect(reply, tipPath(tipId), flash);
  }

  scope.post<TipRoute>(`${tipsHome}/:id/erase`, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const t = words(request);
    const tip = await tips.byId(creatorId, request.params.id);
    const what = erasable.find((each) => each === formText(request, 'what'));
    const name = new Map(namesOf(tip)).get(what ?? 'tip');
    if (what === undefined || (what !== 'tip' && name === undefined)) return reply.redirect(erasePath(tip.id), 303);
    const cost = name === undefined ? costOfOne : Math.max(minCostOfName, await tips.historyCost(creatorId));
    const { allowed } = await limiter.take(`dashboard-erase:${creatorId}`, limit, cost);
    if (!allowed) return pages.redirect(reply, erasePath(tip.id), { tone: 'warn', text: t('tooMany') });
    // The name of an erased tip is gone, so other tips cannot be found by it.
    if (name === undefined || (await tips.isErased(creatorId, tip.id)))
      return eraseOne(request, reply, creatorId, tip.id);
    const started = await erasure.start(creatorId, name);
    return pages.redirect(reply, erasingPath, started ? undefined : { tone: 'warn', text: t('busy') });
  });

  scope.get(erasingPath, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const t = words(request);
    const last = await erasure.last(creatorId);
    if (last?.finished_at === null) reply.header('refresh', refreshSeconds);
    return pages.show(request, reply, { title: t('title'), nav: 'dashboard', body: erasingView(last, t) });
  });
}
