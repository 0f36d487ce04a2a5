import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../errors.ts';
import { createPauses } from '../../platform/pauses.ts';
import type { Platform } from '../../platform/platform.ts';
import { stylesheet } from '../../platform/web/blocks.ts';
import { formText } from '../../platform/web/form-body.ts';
import { money, type Times } from '../../platform/web/format.ts';
import type { Pages } from '../accounts/index.ts';
import { pageAlertLimit } from '../alerts/index.ts';
import { limits } from '../oauth/index.ts';
import { type Overlays, testWords } from '../overlay/index.ts';
import { maxVoidReason, type TipRules, type Tips } from '../tips/index.ts';
import { countTracePage, type Traces, traceStyle } from '../trace/index.ts';
import { createTipParser, readTypedTip, type TypedTip, type WrongTip } from './tip-form.ts';
import { tipFormView } from './tip-form-views.ts';
import { newTipPath, tipPath, tipsHome } from './tip-paths.ts';
import { type TipView, tipView } from './tip-views.ts';
import { tipWords } from './tip-words.ts';

export interface TipPagesParts extends Pick<Platform, 'limiter'> {
  readonly pages: Pages;
  readonly tips: Tips;
  readonly traces: Traces;
  readonly overlays: Overlays;
  readonly times: Times;
  readonly rules: TipRules;
}

interface TipRoute {
  Params: { id: string };
}

/** /dashboard/tips/new and /dashboard/tips/{id}: enter a tip; what happened to one, void and replay. */
export function tipPages(scope: FastifyInstance, parts: TipPagesParts): void {
  const { pages, tips, traces, overlays, times, limiter, rules } = parts;
  const style = traceStyle(pages.assets);
  const words = (request: FastifyRequest) => tipWords(pages.lang(request));
  const parse = createTipParser(rules);

  interface ShownForm {
    readonly status?: number;
    readonly typed?: TypedTip;
    readonly wrong?: WrongTip;
    readonly again?: boolean;
  }

  function showForm(request: FastifyRequest, reply: FastifyReply, shown: ShownForm = {}) {
    const { status = 200, typed, wrong = {}, again = false } = shown;
    const t = words(request);
    const empty = { amount: '', from: '', message: '' };
    const body = tipFormView({
      t,
      csrf: pages.csrf(request, reply),
      typed: { ...empty, ...typed, key: pages.formKeys.newKey() },
      wrong,
      again,
    });
    return pages.show(request, reply, { status, title: t('newTitle'), nav: 'dashboard', body });
  }

  scope.get(newTipPath, (request, reply) => {
    pages.requireSession(request);
    return showForm(request, reply);
  });

  scope.post(newTipPath, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const t = words(request);
    const typed = readTypedTip(request);
    const entered = parse(typed, t);
    if ('wrong' in entered) return showForm(request, reply, { status: 422, typed, wrong: entered.wrong });
    const { allowed } = await limiter.take(`dashboard-tip:${creatorId}`, limits.tips);
    if (!allowed) return pages.redirect(reply, newTipPath, { tone: 'warn', text: t('tooMany') });
    try {
      const { tip } = await tips.record({ creatorId, app: 'creator', requestId: request.id, ...entered });
      return pages.redirect(reply, tipPath(tip.id), { tone: 'ok', text: t('newDone') });
    } catch (error) {
      if (error instanceof ApiError && error.code === 'idempotency_key_reused')
        return showForm(request, reply, { status: 422, typed, again: true });
      throw error;
    }
  });

  async function showTip(
    request: FastifyRequest<TipRoute>,
    reply: FastifyReply,
    { status = 200, typed }: { status?: number; typed?: TipView['typed'] } = {},
  ) {
    const { creatorId } = pages.requireSession(request);
    await countTracePage(limiter, creatorId);
    const t = words(request);
    const trace = await traces.ofTip(creatorId, request.params.id, 'creator');
    const tip = await tips.byId(creatorId, request.params.id);
    const [replayable, erased] = await Promise.all([
      tips.mayBeShown(creatorId, tip.id),
      tips.isErased(creatorId, tip.id),
    ]);
    const lang = pages.lang(request);
    const shown = { lang, csrf: pages.csrf(request, reply), times, tip, trace, replayable, erased, typed };
    return pages.show(request, reply, {
      status,
      title: t('title', { amount: money(tip.amount_minor) }),
      nav: 'dashboard',
      head: stylesheet(style()),
      body: await tipView(shown, createPauses(creatorId)),
    });
  }

  scope.get<TipRoute>(`${tipsHome}/:id`, (request, reply) => showTip(request, reply));

  scope.post<TipRoute>(`${tipsHome}/:id/void`, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const t = words(request);
    const reason = formText(request, 'reason').trim();
    if ([...reason].length > maxVoidReason)
      return showTip(request, reply, { status: 422, typed: { reason, wrong: t('voidReasonError') } });
    await tips.void(creatorId, request.params.id, { clientId: null, reason: reason === '' ? null : reason });
    return pages.redirect(reply, tipPath(request.params.id), { tone: 'ok', text: t('voidDone') });
  });

  scope.post<TipRoute>(`${tipsHome}/:id/replay`, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const t = words(request);
    const back = tipPath(request.params.id);
    const { allowed } = await limiter.take(...pageAlertLimit(creatorId));
    if (!allowed) return pages.redirect(reply, back, { tone: 'warn', text: t('tooMany') });
    await overlays.replayTip(creatorId, request.params.id);
    const outcome = await overlays.replayOutcome(creatorId);
    const tone = outcome === 'replayDone' ? 'ok' : 'warn';
    return pages.redirect(reply, back, { tone, text: testWords(pages.lang(request))(outcome) });
  });
}
