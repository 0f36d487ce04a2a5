import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../errors.ts';
import type { StoredFiles } from '../../platform/http/stored-files.ts';
import type { Platform } from '../../platform/platform.ts';
import { formText } from '../../platform/web/form-body.ts';
import type { Times } from '../../platform/web/format.ts';
import { limitPage } from '../../platform/web/page-limit.ts';
import { openField, sealField } from '../../platform/web/sealed-field.ts';
import type { Pages } from '../accounts/index.ts';
import {
  AppError,
  type AppRow,
  type Apps,
  type Failures,
  type Logos,
  redirectUrisOf,
  type SecretChange,
} from '../apps/index.ts';
import type { Grants } from '../oauth/index.ts';
import type { Traces } from '../trace/index.ts';
import type { Webhooks } from '../webhooks/index.ts';
import { creatorsPages } from './creators-pages.ts';
import { creatorsCard } from './creators-views.ts';
import { failuresPages } from './failures-pages.ts';
import { failuresCard } from './failures-views.ts';
import { logoPages } from './logo-pages.ts';
import { logoCard } from './logo-views.ts';
import { ownTokenPages } from './own-token-pages.ts';
import { ownTokenCard } from './own-token-views.ts';
import { tracePages } from './trace-pages.ts';
import { traceCard } from './trace-views.ts';
import { appPage, listPage, registerPage, type Typed, type View } from './views.ts';
import { webhookPages } from './webhook-pages.ts';
import { webhooksCard } from './webhook-views.ts';
import { tooManyText, words } from './words.ts';

export interface PortalParts extends Pick<Platform, 'zone' | 'clock' | 'vault' | 'limiter'> {
  readonly pages: Pages;
  readonly apps: Apps;
  readonly logos: Logos;
  readonly files: StoredFiles;
  readonly failures: Failures;
  readonly traces: Traces;
  readonly grants: Grants;
  readonly webhooks: Webhooks;
  readonly times: Times;
  readonly config: { readonly baseUrl: string; readonly development: boolean };
}

/** Forms of one developer. A deleted app makes room for another one, and its row is kept for a month. */
const registerLimit = { limit: 60, windowMs: 3_600_000 };

type AppRequest = FastifyRequest<{ Params: { clientId: string } }>;

/** /developers: the apps of the signed-in person. The app of another owner is answered with 404. */
export function portalPages(scope: FastifyInstance, parts: PortalParts): void {
  const { pages, apps, grants, times, zone, clock, vault, limiter, config } = parts;

  const viewOf = (request: FastifyRequest, reply: FastifyReply): View => ({
    lang: pages.lang(request),
    csrf: pages.csrf(request, reply),
    key: pages.formKeys.newKey(),
    authUrl: pages.authUrl,
    baseUrl: config.baseUrl,
    development: config.development,
    times,
    zone,
    now: clock(),
  });

  async function ownedApp(ownerId: string, clientId: string): Promise<AppRow> {
    const app = await apps.ownedBy(ownerId, clientId);
    if (!app) throw new ApiError('not_found');
    return app;
  }

  /** A public app has neither a secret nor webhooks. */
  async function ownedConfidential(ownerId: string, clientId: string): Promise<AppRow> {
    const app = await ownedApp(ownerId, clientId);
    if (app.public === 1) throw new ApiError('not_found');
    return app;
  }

  webhookPages(scope, { pages, webhooks: parts.webhooks, viewOf, ownedApp: ownedConfidential });
  logoPages(scope, { ...parts, ownedApp, showApp });
  creatorsPages(scope, { ...parts, viewOf, ownedApp });
  tracePages(scope, { ...parts, viewOf, ownedApp });
  failuresPages(scope, { ...parts, viewOf, ownedApp });
  ownTokenPages(scope, { ...parts, ownedApp, showApp });

  scope.get('/developers', async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const body = listPage(viewOf(request, reply), await apps.ofOwner(creatorId));
    return pages.show(request, reply, { title: words(pages.lang(request))('title'), nav: 'developers', body });
  });

  // Registering creates a secret, so the sign-in must be recent. Checked before the person fills in the form.
  scope.get('/developers/apps/new', async (request, reply) => {
    pages.requireRecent(request);
    const typed = { name: '', description: '', redirectUris: '', homepage: '', privacy: '', publicApp: false };
    return showRegister(request, reply, typed);
  });

  scope.post('/developers/apps', async (request, reply) => {
    const { creatorId } = pages.requireRecent(request);
    await limitPage(limiter, `register-app:${creatorId}`, registerLimit);
    const typed = typedIn(request);
    const id = pages.formKeys.idOf(request, 'app');
    try {
      const registering = { ...detailsOf(typed), ownerId: creatorId, id };
      const t = words(pages.lang(request));
      if (typed.publicApp) {
        const { clientId, name } = await apps.addPublic(registering);
        const flash = { tone: 'ok', text: t('registered', { app: name }) } as const;
        return pages.redirect(reply, `/developers/apps/${clientId}`, flash);
      }
      const { clientId, clientSecret, name } = await apps.add(registering);
      const text = t('registered', { app: name });
      const app = await apps.byId(clientId);
      return showApp(request, reply, app, { secret: { value: clientSecret, text }, status: 201 });
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      if (error.code === 'app_exists') {
        const there = (await apps.ownedBy(creatorId, id)) ? `/developers/apps/${id}` : '/developers';
        return pages.redirect(reply, there, { tone: 'warn', text: words(pages.lang(request))('appExists') });
      }
      return showRegister(request, reply, { ...typed, problems: error.problems }, error);
    }
  });

  scope.get('/developers/apps/:clientId', async (request: AppRequest, reply) => {
    const { creatorId } = pages.requireSession(request);
    return showApp(request, reply, await ownedApp(creatorId, request.params.clientId));
  });

  scope.post('/developers/apps/:clientId', async (request: AppRequest, reply) => {
    const { creatorId } = pages.requireSession(request);
    const app = await ownedApp(creatorId, request.params.clientId);
    const typed = typedIn(request);
    try {
      await apps.edit(creatorId, app.id, detailsOf(typed));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      const problems = { ...typed, publicApp: app.public === 1, problems: error.problems };
      return showApp(request, reply, app, { typed: problems, status: 422 });
    }
    const text = words(pages.lang(request))('saved');
    return pages.redirect(reply, `/developers/apps/${app.id}`, { tone: 'ok', text });
  });

  scope.post('/developers/apps/:clientId/secret', async (request: AppRequest, reply) => {
    const session = pages.requireRecent(request);
    const app = await ownedConfidential(session.creatorId, request.params.clientId);
    const t = words(pages.lang(request));
    // The form that is sent twice makes one secret, and shows it twice: a browser shows the second answer only.
    const change =
      openField<SecretChange>(vault, changeContext(session.id, app), formText(request, 'change')) ??
      apps.newSecretFor(app);
    if (!(await apps.changeSecret(app.id, change)))
      return pages.redirect(reply, `/developers/apps/${app.id}`, { tone: 'warn', text: t('newSecretOutdated') });
    const secret = { value: change.clientSecret, text: t('newSecretDone') };
    return showApp(request, reply, await ownedConfidential(session.creatorId, app.id), { secret });
  });

  scope.post('/developers/apps/:clientId/delete', async (request: AppRequest, reply) => {
    const { creatorId } = pages.requireSession(request);
    const app = await ownedApp(creatorId, request.params.clientId);
    await grants.deleteApp(creatorId, app.id);
    const text = words(pages.lang(request))('removed', { app: app.name });
    return pages.redirect(reply, '/developers', { tone: 'ok', text });
  });

  function showRegister(request: FastifyRequest, reply: FastifyReply, typed: Typed, refused?: AppError) {
    const lang = pages.lang(request);
    const tooMany = refused?.code === 'too_many_apps' ? tooManyText(lang) : undefined;
    const body = registerPage(viewOf(request, reply), typed, tooMany);
    const title = words(lang)('register');
    return pages.show(request, reply, { title, nav: 'developers', body, status: refused ? 422 : 200 });
  }

  async function showApp(
    request: FastifyRequest,
    reply: FastifyReply,
    app: AppRow,
    o: {
      typed?: Typed;
      secret?: { value: string; text: string };
      logoError?: string;
      token?: { value: string; minutes: number };
      status?: number;
    } = {},
  ) {
    const view = viewOf(request, reply);
    const { creatorId, id: sessionId } = pages.requireSession(request);
    const connections = await grants.connections(creatorId);
    const own = connections.find(({ client_id }) => client_id === app.id);
    const body = appPage(view, app, {
      typed: o.typed ?? typedOf(app),
      secret: o.secret,
      secretChange: sealField(vault, changeContext(sessionId, app), apps.newSecretFor(app) satisfies SecretChange),
      logo: logoCard(view, app, o.logoError),
      ownToken: ownTokenCard(view, app, own?.scope, o.token),
      webhooks: app.public === 1 ? '' : webhooksCard(view, app),
      creators: creatorsCard(view, app),
      trace: traceCard(view, app),
      failures: failuresCard(view, app),
    });
    return pages.show(request, reply, { title: app.name, nav: 'developers', body, status: o.status ?? 200 });
  }
}

const changeContext = (sessionId: string, { id }: AppRow): string => `secret-change:${sessionId}:${id}`;

const typedIn = (request: FastifyRequest): Typed => ({
  name: formText(request, 'name'),
  description: formText(request, 'description'),
  homepage: formText(request, 'homepage'),
  privacy: formText(request, 'privacy'),
  redirectUris: formText(request, 'redirect_uris'),
  publicApp: formText(request, 'public') !== '',
});

const typedOf = (app: AppRow): Typed => ({
  name: app.name,
  description: app.description ?? '',
  homepage: app.homepage_url ?? '',
  privacy: app.privacy_url ?? '',
  redirectUris: redirectUrisOf(app).join('\n'),
  publicApp: app.public === 1,
});

const detailsOf = ({ redirectUris, name, description, homepage, privacy }: Typed) => ({
  name,
  description,
  homepage,
  privacy,
  redirectUris: redirectUris
    .split(/\r\n|\r|\n/)
    .map((line) => line.trim())
    .filter(Boolean),
});
