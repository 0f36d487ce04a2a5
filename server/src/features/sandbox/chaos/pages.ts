import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../../errors.ts';
import { createPauses } from '../../../platform/pauses.ts';
import type { Platform } from '../../../platform/platform.ts';
import { formText } from '../../../platform/web/form-body.ts';
import type { Times } from '../../../platform/web/format.ts';
import { limitPage } from '../../../platform/web/page-limit.ts';
import type { Pages } from '../../accounts/index.ts';
import type { AppRow, Apps } from '../../apps/index.ts';
import type { Grants } from '../../oauth/index.ts';
import { type CreatorRoute, home } from '../paths.ts';
import type { Sandbox } from '../service.ts';
import { chaosKinds, type Shares } from './decide.ts';
import { isRunName } from './runs.ts';
import { type Chaos, ChaosError } from './service.ts';
import { chaosPage, chaosPath, choicePage, mostShown, readPercent, type Typed, type View } from './views.ts';
import { chaosWords } from './words.ts';

export interface ChaosPagesParts extends Pick<Platform, 'limiter'> {
  readonly pages: Pages;
  readonly sandbox: Pick<Sandbox, 'requireOwned'>;
  readonly apps: Pick<Apps, 'ownedBy' | 'ofOwner'>;
  readonly grants: Pick<Grants, 'isConnected'>;
  readonly chaos: Chaos;
  readonly times: Times;
}

/** Of one developer. Each page reads the list of faults several times, and the tips that follow them. */
const reportLimit = { limit: 60, windowMs: 60_000 };

const pairPath = `${home}/:id/chaos/:clientId`;

interface PairRoute {
  Params: { id: string; clientId: string };
}

/** /developers/sandbox/{id}/chaos. Creators and apps of another developer are answered with 404. */
export function chaosPages(scope: FastifyInstance, parts: ChaosPagesParts): void {
  const { pages, sandbox, apps, grants, chaos, times, limiter } = parts;
  const words = (request: FastifyRequest) => chaosWords(pages.lang(request));

  const viewOf = (request: FastifyRequest, reply: FastifyReply): View => ({
    lang: pages.lang(request),
    csrf: pages.csrf(request, reply),
    times,
  });

  async function ownCreator(request: FastifyRequest<CreatorRoute>) {
    const { creatorId: developerId } = pages.requireSession(request);
    return { creator: await sandbox.requireOwned(developerId, request.params.id), developerId };
  }

  async function ownPair(request: FastifyRequest<PairRoute>) {
    const { creator, developerId } = await ownCreator(request);
    const app: AppRow | undefined = await apps.ownedBy(developerId, request.params.clientId);
    if (!app) throw new ApiError('not_found');
    return { creator, app, developerId, pair: { creatorId: creator.id, clientId: app.id } };
  }

  async function show(request: FastifyRequest<PairRoute>, reply: FastifyReply, typed?: Typed) {
    const { creator, app, developerId, pair } = await ownPair(request);
    await limitPage(limiter, `chaos-report:${developerId}`, reportLimit);
    const [settings, report, faults, connected] = await Promise.all([
      chaos.of(pair),
      chaos.report(pair),
      chaos.faults(pair, mostShown),
      grants.isConnected(pair.creatorId, pair.clientId),
    ]);
    const shown = { creator, app, connected, settings, report, faults, typed };
    const body = await chaosPage(viewOf(request, reply), shown, createPauses(developerId));
    const title = words(request)('title', { app: app.name });
    return pages.show(request, reply, { title, nav: 'developers', body, status: typed ? 422 : 200 });
  }

  scope.get<CreatorRoute>(`${home}/:id/chaos`, async (request, reply) => {
    const { creator, developerId } = await ownCreator(request);
    const [own, settings] = await Promise.all([apps.ofOwner(developerId), chaos.ofCreator(creator.id)]);
    const on = new Set(settings.filter(({ enabled }) => enabled === 1).map(({ client_id }) => client_id));
    const body = choicePage(viewOf(request, reply), creator, own, on);
    return pages.show(request, reply, { title: words(request)('chooseTitle'), nav: 'developers', body });
  });

  scope.get<PairRoute>(pairPath, (request, reply) => show(request, reply));

  scope.post<PairRoute>(pairPath, async (request, reply) => {
    const { pair } = await ownPair(request);
    const seed = formText(request, 'seed').trim();
    const percents = Object.fromEntries(chaosKinds.map((kind) => [kind, formText(request, `share.${kind}`).trim()]));
    const shares = Object.entries(percents).map(([kind, percent]) => [kind, readPercent(percent)]);
    try {
      await chaos.save(pair, seed, Object.fromEntries(shares) as Partial<Shares>);
    } catch (error) {
      if (!(error instanceof ChaosError)) throw error;
      return show(request, reply, { seed, percents, problem: error.problem });
    }
    return pages.redirect(reply, chaosPath(pair), { tone: 'ok', text: words(request)('startedDone') });
  });

  scope.post<PairRoute>(`${pairPath}/start`, async (request, reply) => {
    const { pair } = await ownPair(request);
    const run = formText(request, 'run');
    if (!isRunName(run)) throw new ApiError('not_found');
    const seed = formText(request, 'seed').trim();
    try {
      await chaos.start(pair, seed, run);
    } catch (error) {
      if (!(error instanceof ChaosError)) throw error;
      return show(request, reply, { seed, run, problem: error.problem });
    }
    return pages.redirect(reply, chaosPath(pair), { tone: 'ok', text: words(request)('startedDone') });
  });

  scope.post<PairRoute>(`${pairPath}/stop`, async (request, reply) => {
    const { pair } = await ownPair(request);
    await chaos.stop(pair);
    return pages.redirect(reply, `${chaosPath(pair)}#report`, { tone: 'ok', text: words(request)('stoppedDone') });
  });
}
