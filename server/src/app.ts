import type { FastifyInstance, FastifyRequest } from 'fastify';
import { apiDocument } from './api-document.ts';
import { accountSettingsPages, activityPages, createPostLimit, signInPages } from './features/accounts/index.ts';
import { alertRoutes } from './features/alerts/index.ts';
import { toFailure } from './features/apps/index.ts';
import { connectionPages, socketIoRoutes } from './features/connections/index.ts';
import {
  connectedAppPages,
  dashboardPages,
  erasePages,
  liveRoute,
  tipPages,
  tipsPages,
} from './features/dashboard/index.ts';
import { docsPages } from './features/docs/index.ts';
import { goalPages, goalRoutes } from './features/goals/index.ts';
import { healthRoutes } from './features/health/index.ts';
import { leavingPages } from './features/leaving/index.ts';
import { livePages } from './features/live/index.ts';
import { authorizePages, chaosHeader, devicePages, metadataRoutes, oauthRoutes } from './features/oauth/index.ts';
import { overlayPages, overlayRoutes } from './features/overlay/index.ts';
import { portalPages } from './features/portal/index.ts';
import { profilePages, profileRoutes } from './features/profile/index.ts';
import { chaosPages, rehearsalPages, sandboxPages } from './features/sandbox/index.ts';
import { screeningPages } from './features/screening/index.ts';
import { socketRoutes, webSocketOptions } from './features/sockets/index.ts';
import { tipRoutes } from './features/tips/index.ts';
import { traceRoutes } from './features/trace/index.ts';
import { listenRoute, webhookRoutes } from './features/webhooks/index.ts';
import { actAs } from './platform/http/act-as.ts';
import { collectOpenApi } from './platform/http/openapi.ts';
import { createHttp } from './platform/http/server.ts';
import { createStoredFiles } from './platform/http/stored-files.ts';
import { useWebSockets } from './platform/http/websocket.ts';
import { createAssets } from './platform/web/assets.ts';
import { createTimes } from './platform/web/format.ts';
import type { Navigation } from './platform/web/layout.ts';
import { createPages } from './platform/web/pages.ts';
import type { Runtime } from './runtime.ts';

const navigation = {
  dashboard: { href: '/dashboard', en: 'Dashboard', th: 'ภาพรวม' },
  live: { href: '/dashboard/live', en: 'Live control', th: 'ควบคุมสด' },
  overlay: { href: '/dashboard/overlay', en: 'Overlay', th: 'โอเวอร์เลย์' },
  goals: { href: '/dashboard/goals', en: 'Goals', th: 'เป้าหมาย' },
  screening: { href: '/dashboard/screening', en: 'Screening', th: 'คัดกรอง' },
  connections: { href: '/dashboard/connections', en: 'Connections', th: 'การเชื่อมต่อ' },
  apps: { href: '/dashboard/apps', en: 'Connected apps', th: 'แอปที่เชื่อมต่อ' },
  profile: { href: '/dashboard/profile', en: 'Profile', th: 'โปรไฟล์' },
  developers: { href: '/developers', en: 'Developers', th: 'นักพัฒนา' },
  docs: { href: '/docs', en: 'Docs', th: 'เอกสาร' },
} satisfies Navigation;

declare module './platform/web/layout.ts' {
  interface Sections extends Readonly<typeof navigation> {}
}

export interface App {
  readonly http: FastifyInstance;
  /** The API document, once `http` is ready. */
  readonly document: () => object;
  /**
   * Makes `/readyz` fail, waits `noticeMs` so that balancers notice, and asks sockets to reconnect. Resolves when they
   * have closed, after `socketsMs` more at the latest.
   */
  drain(times: { readonly noticeMs?: number; readonly socketsMs: number }): Promise<void>;
}

/** Every feature, in order. */
export function createApp(runtime: Runtime): App {
  const { keys, tokenEndpoint, access, streams, presence, overlays } = runtime;
  const { config, db, newId, log, metrics, vault, zone, events, tokens, protect, profiles, tips, alerts } = runtime;
  const { clock, origins, hub, limiter, sessions, signIn, passkeys, recovery, accounts, apps, grants, lastUsed } =
    runtime;
  let draining = false;
  const assets = createAssets();
  const files = createStoredFiles(limiter);
  const countPost = createPostLimit(limiter);
  const pages = createPages({ authUrl: config.authUrl, assets, navigation, sessions, countPost, vault, clock, log });
  const times = createTimes(config.timeZone);
  const http = createHttp({
    config,
    newId,
    log,
    metrics,
    caller: (request) => request.grant ?? callerOf(request, pages.session(request)?.creatorId),
    isInjectedFault: (reply) => reply.hasHeader(chaosHeader),
    onFailure(request, reply) {
      const clientId = request.grant?.clientId ?? request.clientId;
      const chaos = reply.hasHeader(chaosHeader);
      if (clientId !== undefined) runtime.failures.record(clientId, (at) => toFailure(request, reply, at, chaos));
    },
    pageErrorWriter: pages.errorWriter,
  });
  http.decorateRequest('grant');
  http.decorateRequest('clientId');
  http.decorateRequest('creatorId');
  const webSockets = useWebSockets(http, webSocketOptions);
  const document = collectOpenApi(http, apiDocument(config));

  healthRoutes(http, { db, log, draining: () => draining, lacksSecretKey: runtime.sealing.lacksKey });
  metadataRoutes(http, { keys, apps, baseUrl: config.baseUrl, authUrl: config.authUrl });
  oauthRoutes(http, { apps, origins, devices: runtime.devices, tokenEndpoint });
  profileRoutes(http, { profiles, protect });
  tipRoutes(http, { tips, protect, vault, zone, rules: config });
  traceRoutes(http, { traces: runtime.traces, protect });
  goalRoutes(http, { goals: runtime.goals, protect });
  alertRoutes(http, { alerts, protect, rules: config });
  webhookRoutes(http, { webhooks: runtime.webhooks, apps: runtime.apps, origins, vault, zone });
  listenRoute(http, { webSockets, listeners: runtime.listeners, apps, limits: runtime.webhooks.limits, origins });
  socketRoutes(http, {
    webSockets,
    events,
    streams,
    tokens,
    access,
    protect,
    log,
    sandboxFrames: runtime.sandboxFrames,
    baseUrl: config.baseUrl,
  });

  overlayRoutes(http, {
    overlays,
    rehearsals: runtime.rehearsals,
    widgets: runtime.widgets,
    presence,
    streams,
    limiter,
    hub,
    log,
    clock,
    webSockets,
    pages,
    files,
  });

  socketIoRoutes(http, {
    webSockets,
    streams,
    streamKeys: runtime.streamKeys,
    openKeys: runtime.openKeys,
    keySends: runtime.keySends,
    tips,
    limiter,
    log,
  });

  pages.register(http, (scope) => {
    scope.addHook(
      'preHandler',
      actAs(origins, (request) => pages.session(request)?.creatorId),
    );
    signInPages(scope, {
      pages,
      accounts,
      signIn,
      passkeys,
      recovery,
      limiter,
      signup: config.signup,
      vault,
      clock,
      times,
      restore: (creatorId) => runtime.leaving.restore(creatorId, 'owner'),
    });
    accountSettingsPages(scope, { pages, accounts, sessions, passkeys, recovery, times });
    activityPages(scope, { pages, audit: runtime.audit, times });
    leavingPages(scope, { pages, limiter, exports: runtime.exports, leaving: runtime.leaving });
    dashboardPages(scope, {
      db,
      clock,
      pages,
      tips,
      connections: runtime.connections,
      overlays,
      profiles,
      grants,
      recovery,
      times,
      limiter,
      signup: config.signup,
    });
    liveRoute(scope, { pages, streams });
    tipsPages(scope, { pages, tips, grants, times, limiter, vault, clock, zone });
    erasePages(scope, { pages, tips, erasure: runtime.erasure, limiter });
    tipPages(scope, { pages, tips, traces: runtime.traces, overlays, times, limiter, rules: config });
    overlayPages(scope, { pages, overlays, presence, times, limiter });
    livePages(scope, {
      pages,
      control: runtime.control,
      moderators: runtime.moderators,
      rehearsals: runtime.rehearsals,
      overlays,
      streams,
      hub,
      limiter,
      clock,
      times,
      zone,
    });
    connectionPages(scope, {
      pages,
      connections: runtime.connections,
      streamKeys: runtime.streamKeys,
      openKeys: runtime.openKeys,
      times,
      baseUrl: config.baseUrl,
    });
    screeningPages(scope, { pages, screening: runtime.screening, limiter });
    goalPages(scope, { pages, goals: runtime.goals, times, clock, zone });
    profilePages(scope, { pages, profiles, cards: runtime.cards, files, limiter });
    authorizePages(scope, { pages, accounts, apps, grants, vault, clock, limiter, issuer: config.authUrl });
    devicePages(scope, { pages, accounts, apps, grants, devices: runtime.devices, vault, limiter, times });
    connectedAppPages(scope, { pages, grants, lastUsed, times });
    portalPages(scope, {
      pages,
      apps,
      logos: runtime.logos,
      files,
      failures: runtime.failures,
      traces: runtime.traces,
      grants,
      webhooks: runtime.webhooks,
      times,
      zone,
      clock,
      vault,
      limiter,
      config,
    });
    chaosPages(scope, { pages, sandbox: runtime.sandbox, apps, grants, chaos: runtime.chaos, times, limiter });
    sandboxPages(scope, {
      pages,
      sandbox: runtime.sandbox,
      console: runtime.sandboxConsole,
      apps,
      grants,
      overlays,
      screening: runtime.screening,
      traces: runtime.traces,
      times,
      limiter,
      config,
      manyNodes: db.engine === 'postgres',
    });
    rehearsalPages(scope, {
      pages,
      sandbox: runtime.sandbox,
      rehearsals: runtime.rehearsals,
      limiter,
      clock,
      zone,
      times,
    });
    docsPages(scope, { pages, document, limiter });
  });

  let documentBytes: Buffer | undefined;
  http.get('/openapi.json', (_request, reply) => {
    // Written once: it takes milliseconds, and anybody may ask for it.
    documentBytes ??= Buffer.from(JSON.stringify(document()));
    const headers = { 'access-control-allow-origin': '*', 'content-type': 'application/json; charset=utf-8' };
    return reply.headers(headers).send(documentBytes);
  });

  return {
    http,
    document,
    async drain({ noticeMs = 0, socketsMs }) {
      draining = true;
      if (noticeMs > 0) await runtime.wait(noticeMs);
      await streams.move(socketsMs);
    },
  };
}

/** The caller of a request without a grant: an app, a refused token, the key of an overlay, or somebody who is signed in. */
function callerOf({ clientId, creatorId, overlayOf }: FastifyRequest, signedIn: string | undefined) {
  const creator = creatorId ?? (overlayOf || undefined) ?? signedIn;
  return clientId === undefined && creator === undefined ? undefined : { clientId, creatorId: creator };
}
