import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../errors.ts';
import type { Platform } from '../../platform/platform.ts';
import { stylesheet } from '../../platform/web/blocks.ts';
import { formText } from '../../platform/web/form-body.ts';
import { readMoney, type Times } from '../../platform/web/format.ts';
import { limitPage } from '../../platform/web/page-limit.ts';
import { AccountError, type Pages } from '../accounts/index.ts';
import type { Apps } from '../apps/index.ts';
import { allScopes, type Grants } from '../oauth/index.ts';
import type { Overlays } from '../overlay/index.ts';
import { countChange, type Screening } from '../screening/index.ts';
import type { TipRules } from '../tips/index.ts';
import type { Traces } from '../trace/index.ts';
import { consolePages } from './console/pages.ts';
import type { Console } from './console/service.ts';
import { type CreatorRoute, home, pathOf } from './paths.ts';
import { mostSandboxes, type Sandbox, SandboxError } from './service.ts';
import type { Shown } from './shown.ts';
import { sandboxTraces } from './trace-pages.ts';
import { type Choices, creatorView, listView, type TypedName, type View } from './views.ts';
import { sandboxWords } from './words.ts';

export interface SandboxPagesParts extends Pick<Platform, 'limiter'> {
  readonly pages: Pages;
  readonly sandbox: Sandbox;
  readonly console: Console;
  readonly apps: Apps;
  readonly grants: Grants;
  readonly overlays: Overlays;
  readonly screening: Screening;
  readonly traces: Traces;
  readonly times: Times;
  readonly config: TipRules & { readonly baseUrl: string };
  readonly manyNodes: boolean;
}

/** Tokens that one developer makes, for all sandbox creators together. Each token adds a family, which is kept for months. */
const tokenLimit = { limit: 30, windowMs: 3_600_000 };
const maxMinimumMinor = 100_000_000;

/** /developers/sandbox: sandbox creators of the signed-in developer. That of another developer is answered with 404. */
export function sandboxPages(scope: FastifyInstance, parts: SandboxPagesParts): void {
  const { pages, sandbox, apps, grants, overlays, screening, times, limiter, config } = parts;
  const words = (request: FastifyRequest) => sandboxWords(pages.lang(request));
  const script = pages.assets.add(new URL('./browser/console.ts', import.meta.url));
  const style = pages.assets.add(new URL('./sandbox.css', import.meta.url));

  const viewOf = (request: FastifyRequest, reply: FastifyReply): View => ({
    lang: pages.lang(request),
    csrf: pages.csrf(request, reply),
    key: pages.formKeys.newKey(),
    baseUrl: config.baseUrl,
    times,
  });

  async function showList(request: FastifyRequest, reply: FastifyReply, typed?: TypedName) {
    const { creatorId } = pages.requireSession(request);
    const creators = await sandbox.list(creatorId);
    const body = listView(viewOf(request, reply), creators, typed ?? { name: `Sandbox ${creators.length + 1}` });
    const status = typed ? 422 : 200;
    return pages.show(request, reply, { status, title: words(request)('title'), nav: 'developers', body });
  }

  async function choicesOf(creatorId: string): Promise<Choices> {
    const [overlay, rules] = await Promise.all([overlays.get(creatorId), screening.get(creatorId)]);
    const minimum = String(overlay.settings.minimumMinor / 100);
    return { holdAll: rules.hold.everything, paused: overlay.paused, minimum };
  }

  async function show(request: FastifyRequest<CreatorRoute>, reply: FastifyReply, shown: Shown = {}) {
    const { creatorId } = pages.requireSession(request);
    const creator = await sandbox.requireOwned(creatorId, request.params.id);
    const [own, connections, choices] = await Promise.all([
      apps.ofOwner(creatorId),
      grants.connections(creator.id),
      choicesOf(creator.id),
    ]);
    const body = creatorView(viewOf(request, reply), {
      creator,
      apps: own,
      connections,
      tokens: shown.tokens,
      address: shown.address,
      choices: shown.choices ?? choices,
      typed: shown.typed ?? { name: creator.display_name },
      console: await console.view(request, reply, creator, shown.console),
    });
    return pages.show(request, reply, {
      status: shown.status ?? 200,
      title: creator.display_name,
      nav: 'developers',
      head: stylesheet(style()),
      modules: [script()],
      body,
    });
  }

  sandboxTraces(scope, parts);
  const console = consolePages(scope, { ...parts, show });

  scope.get(home, (request, reply) => showList(request, reply));

  scope.post(home, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const t = words(request);
    const name = formText(request, 'name');
    const id = pages.formKeys.idOf(request, 'crt');
    try {
      const creator = await sandbox.create(creatorId, name, id);
      const text = t('made', { name: creator.display_name });
      return pages.redirect(reply, pathOf(creator), { tone: 'ok', text });
    } catch (error) {
      if (error instanceof AccountError) return showList(request, reply, { name, wrong: t('nameError') });
      if (!(error instanceof SandboxError)) throw error;
      if (error.code === 'sandbox_exists')
        return pages.redirect(reply, pathOf({ id }), { tone: 'warn', text: t('made_before') });
      return pages.redirect(reply, home, { tone: 'error', text: t('tooMany', { most: mostSandboxes }) });
    }
  });

  scope.get<CreatorRoute>(`${home}/:id`, (request, reply) => show(request, reply));

  scope.post<CreatorRoute>(`${home}/:id/name`, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const name = formText(request, 'name');
    try {
      if (!(await sandbox.rename(creatorId, request.params.id, name))) throw new ApiError('not_found');
    } catch (error) {
      if (!(error instanceof AccountError)) throw error;
      return show(request, reply, { status: 422, typed: { name, wrong: words(request)('nameError') } });
    }
    return pages.redirect(reply, pathOf(request.params), { tone: 'ok', text: words(request)('saved') });
  });

  scope.post<CreatorRoute>(`${home}/:id/remove`, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const creator = await sandbox.requireOwned(creatorId, request.params.id);
    await sandbox.remove(creatorId, creator.id);
    const text = words(request)('removed', { name: creator.display_name });
    return pages.redirect(reply, home, { tone: 'ok', text });
  });

  // Tokens are secrets: making them needs a recent sign-in, and they are shown once.
  scope.post<CreatorRoute>(`${home}/:id/connect`, async (request, reply) => {
    const { creatorId } = pages.requireRecent(request);
    const creator = await sandbox.requireOwned(creatorId, request.params.id);
    const app = await apps.ownedBy(creatorId, formText(request, 'client_id'));
    if (!app) throw new ApiError('not_found');
    await limitPage(limiter, `sandbox-token:${creatorId}`, tokenLimit);
    const chosen = allScopes.filter((name) => formText(request, `scope.${name}`) !== '');
    const made = await sandbox.connect(creatorId, creator.id, app.id, chosen);
    if (!made) return pages.redirect(reply, pathOf(creator), { tone: 'error', text: words(request)('connectRefused') });
    const minutes = Math.floor(made.expires_in / 60);
    const tokens = { app, accessToken: made.access_token, refreshToken: made.refresh_token, minutes };
    return show(request, reply, { tokens, status: 201 });
  });

  scope.post<CreatorRoute>(`${home}/:id/disconnect`, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const creator = await sandbox.requireOwned(creatorId, request.params.id);
    const app = await apps.ownedBy(creatorId, formText(request, 'client_id'));
    if (!app) throw new ApiError('not_found');
    const t = words(request);
    const ended = await sandbox.disconnect(creatorId, creator.id, app.id);
    const text = ended ? t('disconnected', { app: app.name }) : t('notConnected');
    return pages.redirect(reply, pathOf(creator), { tone: ended ? 'ok' : 'warn', text });
  });

  scope.post<CreatorRoute>(`${home}/:id/address`, async (request, reply) => {
    const { creatorId } = pages.requireRecent(request);
    const creator = await sandbox.requireOwned(creatorId, request.params.id);
    return show(request, reply, { address: `${pages.authUrl}/overlay/${await overlays.key(creator.id)}` });
  });

  scope.post<CreatorRoute>(`${home}/:id/choices`, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const { id } = await sandbox.requireOwned(creatorId, request.params.id);
    const t = words(request);
    const typed = {
      holdAll: formText(request, 'hold_all') !== '',
      paused: formText(request, 'paused') !== '',
      minimum: formText(request, 'minimum').trim(),
    };
    const minimumMinor = typed.minimum === '' ? 0 : readMoney(typed.minimum);
    if (minimumMinor === undefined || minimumMinor > maxMinimumMinor)
      return show(request, reply, { status: 422, choices: { ...typed, wrong: t('minimumError') } });
    await countChange(limiter, id);
    const { settings, paused } = await overlays.get(id);
    await overlays.saveSettings(id, { ...settings, minimumMinor });
    if (paused !== typed.paused) await overlays.pause(id, typed.paused);
    await screening.change(id, (rules) => ({ ...rules, hold: { ...rules.hold, everything: typed.holdAll } }));
    return pages.redirect(reply, pathOf({ id }), { tone: 'ok', text: t('saved') });
  });
}
