import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Limiter } from '../../platform/limiter/limiter.ts';
import type { Times } from '../../platform/web/format.ts';
import { limitPage } from '../../platform/web/page-limit.ts';
import type { Pages } from '../accounts/index.ts';
import { pageAlertLimit } from '../alerts/index.ts';
import { looksPages } from './looks/pages.ts';
import type { Presence } from './presence.ts';
import type { Overlays } from './service.ts';
import { parseSettings, readTyped, type Typed, toTyped, type Wrong } from './settings-form.ts';
import { createStage, stageHeaders } from './stage-views.ts';
import { testWords } from './test-words.ts';
import { home, nowCard, overlayView } from './views.ts';
import { overlayWords } from './words.ts';

export interface OverlayPagesParts {
  readonly pages: Pages;
  readonly overlays: Overlays;
  readonly presence: Presence;
  readonly times: Times;
  readonly limiter: Limiter;
}

const latestAlerts = 20;
/** For all open pages of a creator together. Each asks every three seconds. */
const refreshLimit = { limit: 300, windowMs: 60_000 };

/** /dashboard/overlay: the overlay's address and appearance, and the outcomes of alerts. */
export function overlayPages(scope: FastifyInstance, parts: OverlayPagesParts): void {
  const { pages, overlays, presence, times, limiter } = parts;
  const stage = createStage(pages.assets);
  const script = pages.assets.add(new URL('./browser/settings.ts', import.meta.url));
  const words = (request: FastifyRequest) => overlayWords(pages.lang(request));
  looksPages(scope, { pages, overlays, limiter });

  interface Shown {
    readonly status?: number;
    readonly address?: string;
    readonly typed?: Typed;
    readonly wrong?: Wrong;
  }

  async function show(request: FastifyRequest, reply: FastifyReply, { status = 200, ...shown }: Shown = {}) {
    const { creatorId } = pages.requireSession(request);
    const [overlay, open, recent, looks, voices] = await Promise.all([
      overlays.get(creatorId),
      presence.open(creatorId),
      overlays.recent(creatorId, latestAlerts),
      overlays.looks.get(creatorId),
      overlays.looks.voices(creatorId),
    ]);
    const body = overlayView({
      lang: pages.lang(request),
      csrf: pages.csrf(request, reply),
      times,
      overlay,
      ...open,
      recent,
      hasDraft: looks.changed,
      voices,
      typed: toTyped(overlay.settings),
      wrong: {},
      address: undefined,
      ...shown,
    });
    return pages.show(request, reply, {
      status,
      title: words(request)('title'),
      nav: 'overlay',
      modules: [script()],
      body,
    });
  }

  scope.get(home, (request, reply) => show(request, reply));

  scope.get(`${home}/now`, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    await limitPage(limiter, `overlay-now:${creatorId}`, refreshLimit);
    const [overlay, open] = await Promise.all([overlays.get(creatorId), presence.open(creatorId)]);
    const csrf = pages.csrf(request, reply);
    return reply
      .type('text/html; charset=utf-8')
      .send(nowCard({ lang: pages.lang(request), csrf, times, overlay, ...open }));
  });

  scope.get(`${home}/preview`, async (request, reply) => {
    pages.requireSession(request);
    return reply.headers(stageHeaders({ framed: true })).send(stage.preview());
  });

  scope.post(`${home}/address`, async (request, reply) => {
    const { creatorId } = pages.requireRecent(request);
    return show(request, reply, { address: `${pages.authUrl}/overlay/${await overlays.key(creatorId)}` });
  });

  scope.post(`${home}/replace`, async (request, reply) => {
    const { creatorId } = pages.requireRecent(request);
    await overlays.replaceKey(creatorId);
    return pages.redirect(reply, home, { tone: 'ok', text: words(request)('replaced') });
  });

  scope.post(`${home}/settings`, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const t = words(request);
    const typed = readTyped(request);
    const parsed = parseSettings(typed, t);
    if ('wrong' in parsed) return show(request, reply, { status: 422, typed, wrong: parsed.wrong });
    await overlays.saveSettings(creatorId, { ...(await overlays.get(creatorId)).settings, ...parsed });
    return pages.redirect(reply, home, { tone: 'ok', text: t('saved') });
  });

  for (const [path, paused, done] of [
    ['pause', true, 'pauseDone'],
    ['resume', false, 'resumeDone'],
  ] as const)
    scope.post(`${home}/${path}`, async (request, reply) => {
      const { creatorId } = pages.requireSession(request);
      await overlays.pause(creatorId, paused);
      return pages.redirect(reply, home, { tone: 'ok', text: words(request)(done) });
    });

  async function maySend(creatorId: string): Promise<boolean> {
    return (await limiter.take(...pageAlertLimit(creatorId))).allowed;
  }

  scope.post(`${home}/test`, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const outcome = (await maySend(creatorId)) ? await overlays.sendTest(creatorId) : 'tooMany';
    const text = testWords(pages.lang(request))(outcome);
    return pages.redirect(reply, home, { tone: outcome === 'sent' ? 'ok' : 'warn', text });
  });

  scope.post(`${home}/stop`, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    await overlays.stop(creatorId);
    return pages.redirect(reply, home, { tone: 'ok', text: words(request)('stopDone') });
  });

  scope.post<{ Params: { sequence: string } }>(`${home}/replay/:sequence`, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    if (!(await maySend(creatorId)))
      return pages.redirect(reply, home, { tone: 'warn', text: testWords(pages.lang(request))('tooMany') });
    await overlays.replay(creatorId, toSequence(request.params.sequence));
    const outcome = await overlays.replayOutcome(creatorId);
    const tone = outcome === 'replayDone' ? 'ok' : 'warn';
    return pages.redirect(reply, home, { tone, text: testWords(pages.lang(request))(outcome) });
  });

  scope.post<{ Params: { tipId: string } }>(`${home}/skip/:tipId`, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const t = words(request);
    const skipped = await overlays.skip(creatorId, request.params.tipId);
    if (!skipped) return pages.redirect(reply, home, { tone: 'warn', text: t('skipLate') });
    return pages.redirect(reply, home, { tone: 'ok', text: t('skipDone') });
  });
}

/** 0 for an invalid text: no event has this sequence. */
const toSequence = (text: string): number => (/^\d{1,15}$/.test(text) ? Number(text) : 0);
