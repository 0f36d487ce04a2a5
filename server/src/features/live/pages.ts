import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { createPauses } from '../../platform/pauses.ts';
import type { Platform } from '../../platform/platform.ts';
import { stylesheet } from '../../platform/web/blocks.ts';
import { formText } from '../../platform/web/form-body.ts';
import type { Times } from '../../platform/web/format.ts';
import { type Html, joined } from '../../platform/web/html.ts';
import { PageError } from '../../platform/web/page-error.ts';
import { limitPage } from '../../platform/web/page-limit.ts';
import type { Pages } from '../accounts/index.ts';
import { pageAlertLimit } from '../alerts/index.ts';
import type { Overlays } from '../overlay/index.ts';
import {
  type RefusedRehearsal,
  type Rehearsals,
  rehearsalCard,
  rehearsalProgress,
  startByForm,
} from '../rehearsal/index.ts';
import type { Streams } from '../sockets/index.ts';
import { type Control, heldStep, maxHeld } from './control.ts';
import { type ModeratorsView, moderatorsCard } from './moderator-views.ts';
import { LinkExists, type Moderators, maxLinks } from './moderators.ts';
import { openControlStream } from './stream.ts';
import { liveView } from './views.ts';
import { liveWords } from './words.ts';

export interface LivePagesParts extends Pick<Platform, 'hub' | 'limiter' | 'clock' | 'zone'> {
  readonly pages: Pages;
  readonly control: Control;
  readonly moderators: Moderators;
  readonly overlays: Overlays;
  readonly rehearsals: Rehearsals;
  readonly streams: Streams;
  readonly times: Times;
}

const home = '/dashboard/live';
/** Open controls of a creator, those of moderators included. */
const maxControls = 40;
/** What all moderators of one creator may ask for. */
const requestLimit = { limit: 1200, windowMs: 60_000 };
/**
 * Loads of the page: one count for all moderators of a creator, another for the creator. An open control loads it up to
 * 170 times.
 */
const pageLimit = { limit: 600, windowMs: 60_000 };

/** How many held tips the address asks for. */
function listedHeld(request: FastifyRequest): number {
  const asked = Number((request.query as { held?: unknown }).held);
  return Number.isInteger(asked) ? Math.min(maxHeld, Math.max(heldStep, asked)) : heldStep;
}

/** Who uses a control, and where its forms go. */
interface Controller {
  readonly creatorId: string;
  readonly base: string;
  readonly moderator: boolean;
}

/** /dashboard/live and /moderate/{moderator link}: the same control, with and without an account. */
export function livePages(scope: FastifyInstance, parts: LivePagesParts): void {
  const { pages, control, moderators, overlays, rehearsals, limiter, times, clock, zone } = parts;
  const style = pages.assets.add(new URL('./live.css', import.meta.url));
  const script = pages.assets.add(new URL('./browser/live.ts', import.meta.url));
  const words = (request: FastifyRequest) => liveWords(pages.lang(request));

  const creator = async (request: FastifyRequest): Promise<Controller> => {
    const { creatorId } = pages.requireSession(request);
    return { creatorId, base: home, moderator: false };
  };

  async function moderator(request: FastifyRequest): Promise<Controller> {
    const { key } = request.params as { key: string };
    const creatorId = await moderators.creatorOf(key);
    if (creatorId === undefined) throw new PageError(404, { detail: words(request)('endedText') });
    await limitPage(limiter, `moderate:${creatorId}`, requestLimit);
    return { creatorId, base: `/moderate/${key}`, moderator: true };
  }

  interface Shown {
    readonly status?: number;
    readonly links?: Pick<ModeratorsView, 'address' | 'typed' | 'wrong'>;
    readonly rehearsal?: RefusedRehearsal;
  }

  /** What only the creator has: rehearsals and the links of moderators. */
  async function ownCards(request: FastifyRequest, csrf: string, creatorId: string, shown: Shown): Promise<Html> {
    const lang = pages.lang(request);
    const [evenings, links] = await Promise.all([rehearsals.evenings(creatorId), moderators.list(creatorId)]);
    const rehearsal = { lang, csrf, base: `${home}/rehearsal`, zone, times, evenings, ...shown.rehearsal };
    const t = words(request);
    const moderation = { t, lang, csrf, key: pages.formKeys.newKey(), times, base: home, links, ...shown.links };
    return joined(rehearsalCard(rehearsal), moderatorsCard(moderation));
  }

  async function show(request: FastifyRequest, reply: FastifyReply, controller: Controller, shown: Shown = {}) {
    const { creatorId, base, moderator } = controller;
    const [t, lang, csrf] = [words(request), pages.lang(request), pages.csrf(request, reply)];
    const pause = createPauses(creatorId);
    await pause();
    const [state, rehearsal] = await Promise.all([
      control.state(creatorId, listedHeld(request)),
      moderator ? undefined : rehearsals.current(creatorId),
    ]);
    const now = clock();
    const progress = rehearsalProgress({ lang, csrf, base: `${base}/rehearsal`, rehearsal, now });
    const view = await liveView({ t, csrf, base, moderator, state, now, progress }, pause);
    const own = moderator ? '' : await ownCards(request, csrf, creatorId, shown);
    await pause();
    return pages.show(request, reply, {
      status: shown.status ?? 200,
      title: t('title'),
      ...(moderator ? { width: 'narrow' as const } : { nav: 'live' }),
      head: stylesheet(style()),
      modules: [script()],
      body: joined(view, own),
    });
  }

  /** The routes of one kind of control. */
  function controlRoutes(base: string, controllerOf: (request: FastifyRequest) => Promise<Controller>): void {
    type Params = { Params: { id?: string } };
    const done = (request: FastifyRequest, reply: FastifyReply, { base: to }: Controller) =>
      request.headers['x-live-control'] === undefined ? pages.redirect(reply, to) : reply.code(204).send();

    /** Adds an action. It answers 204 to the script, and leads back to the page without one. */
    const action = (
      path: string,
      act: (creatorId: string, id: string, request: FastifyRequest) => Promise<unknown> | unknown,
    ) =>
      scope.post<Params>(`${base}/${path}`, async (request, reply) => {
        const controller = await controllerOf(request);
        await act(controller.creatorId, request.params.id ?? '', request);
        return done(request, reply, controller);
      });

    /** One after another, in the order of the list. */
    const forListed =
      (decide: (creatorId: string, tipId: string) => Promise<unknown>) =>
      async (creatorId: string, _id: string, request: FastifyRequest): Promise<void> => {
        const listed = formText(request, 'tips').split(' ', maxHeld);
        for (const id of await control.heldAmong(creatorId, listed)) await decide(creatorId, id);
      };

    scope.get(base, async (request, reply) => {
      const controller = await controllerOf(request);
      if (controller.moderator) reply.header('x-robots-tag', 'noindex');
      // By what is listed: a long list costs as much as many short ones.
      const cost = Math.ceil(listedHeld(request) / heldStep);
      await limitPage(
        limiter,
        `${controller.moderator ? 'moderators' : 'live'}-page:${controller.creatorId}`,
        pageLimit,
        cost,
      );
      return show(request, reply, controller);
    });
    action('approve/:id', (creatorId, id) => overlays.approve(creatorId, id));
    action('reject/:id', (creatorId, id) => overlays.reject(creatorId, id));
    action('approve', forListed(overlays.approve));
    action('reject', forListed(overlays.reject));
    action('skip/:id', (creatorId, id) => overlays.skip(creatorId, id));
    action('stop', (creatorId) => overlays.stop(creatorId));
    action('pause', (creatorId) => overlays.pause(creatorId, true));
    action('resume', (creatorId) => overlays.pause(creatorId, false));
    action('hide', (creatorId) => overlays.hide(creatorId, true));
    action('unhide', (creatorId) => overlays.hide(creatorId, false));
    action('replay/:id', async (creatorId, id) => {
      await limitPage(limiter, ...pageAlertLimit(creatorId));
      await overlays.replay(creatorId, /^\d{1,15}$/.test(id) ? Number(id) : 0);
    });
    if (base !== home) return;
    action('rehearsal/stop', (creatorId) => rehearsals.stop(creatorId));
    action('volume', async (creatorId, _id, request) => {
      const volume = Number(formText(request, 'volume'));
      if (!Number.isInteger(volume) || volume < 0 || volume > 100) throw new PageError(422);
      await overlays.setVolume(creatorId, volume);
    });
  }

  controlRoutes(home, creator);
  controlRoutes('/moderate/:key', moderator);

  scope.get(`${home}/stream`, { exposeHeadRoute: false }, async (request, reply) => {
    const { creatorId, id } = pages.requireSession(request);
    await openControlStream(request, reply, parts, {
      creatorId,
      slots: { key: `control:${creatorId}`, max: maxControls },
      permission: { key: `session:${id}`, isAllowed: () => pages.stillSignedIn(request) },
    });
  });

  scope.get<{ Params: { key: string } }>(
    '/moderate/:key/stream',
    { exposeHeadRoute: false },
    async (request, reply) => {
      const { key } = request.params;
      const { creatorId } = await moderator(request);
      await openControlStream(request, reply, parts, {
        creatorId,
        slots: { key: `control:${creatorId}`, max: maxControls },
        permission: { key: `moderator:${key}`, isAllowed: async () => (await moderators.creatorOf(key)) === creatorId },
      });
    },
  );

  scope.post(`${home}/rehearsal`, async (request, reply) => {
    const controller = await creator(request);
    const rehearsal = await startByForm(parts, controller.creatorId, request);
    if (rehearsal) return show(request, reply, controller, { status: 422, rehearsal });
    return pages.redirect(reply, home);
  });

  scope.post(`${home}/moderators`, async (request, reply) => {
    const { creatorId } = pages.requireRecent(request);
    const controller = await creator(request);
    const t = words(request);
    const typed = formText(request, 'title').trim();
    if (typed === '' || [...typed].length > 40)
      return show(request, reply, controller, { status: 422, links: { typed, wrong: t('moderatorTitleError') } });
    try {
      const key = await moderators.add(creatorId, typed, pages.formKeys.idOf(request, 'mod'));
      if (key === undefined)
        return show(request, reply, controller, {
          status: 422,
          links: { typed, wrong: t('tooMany', { count: maxLinks }) },
        });
      return show(request, reply, controller, { links: { address: `${pages.authUrl}/moderate/${key}` } });
    } catch (error) {
      if (!(error instanceof LinkExists)) throw error;
      return pages.redirect(reply, home, { tone: 'warn', text: t('linkExists') });
    }
  });

  scope.post<{ Params: { id: string } }>(`${home}/moderators/:id/revoke`, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    await moderators.revoke(creatorId, request.params.id);
    return pages.redirect(reply, home, { tone: 'ok', text: words(request)('revoked') });
  });
}
