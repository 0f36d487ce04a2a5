import type { FastifyInstance } from 'fastify';
import { apiDocument } from './api-document.ts';
import { accountSettingsPages, createPostLimit, signInPages } from './features/accounts/index.ts';
import { alertRoutes } from './features/alerts/index.ts';
import { toFailure } from './features/apps/index.ts';
import { connectedAppPages, dashboardPages, liveRoute, tipPages, tipsPages } from './features/dashboard/index.ts';
import { docsPages } from './features/docs/index.ts';
import { goalPages, goalRoutes } from './features/goals/index.ts';
import { healthRoutes } from './features/health/index.ts';
import { livePages } from './features/live/index.ts';
import { authorizePages, devicePages, metadataRoutes, oauthRoutes } from './features/oauth/index.ts';
import { overlayPages, overlayRoutes } from './features/overlay/index.ts';
import { portalPages } from './features/portal/index.ts';
import { profilePages, profileRoutes } from './features/profile/index.ts';
import { screeningPages } from './features/screening/index.ts';
import { socketRoutes, webSocketOptions } from './features/sockets/index.ts';
import { tipRoutes } from './features/tips/index.ts';
import { listenRoute, webhookRoutes } from './features/webhooks/index.ts';
import { collectOpenApi } from './platform/http/openapi.ts';
import { createHttp } from './platform/http/server.ts';
import { useWebSockets } from './platform/http/websocket.ts';
import { createAssets } from './platform/web/assets.ts';
import { createTimes } from './platform/web/format.ts';
import type { Navigation } from './platform/web/layout.ts';
import { createPages } from './platform/web/pages.ts';
import type { Runtime } from './runtime.ts';

const navigation: Navigation = {
  dashboard: { href: '/dashboard', en: 'Dashboard', th: 'ภาพรวม' },
  live: { href: '/dashboard/live', en: 'Live control', th: 'ควบคุมสด' },
  overlay: { href: '/dashboard/overlay', en: 'Overlay', th: 'โอเวอร์เลย์' },
  goals: { href: '/dashboard/goals', en: 'Goals', th: 'เป้าหมาย' },
  screening: { href: '/dashboard/screening', en: 'Screening', th: 'คัดกรอง' },
  apps: { href: '/dashboard/apps', en: 'Connected apps', th: 'แอปที่เชื่อมต่อ' },
  profile: { href: '/dashboard/profile', en: 'Profile', th: 'โปรไฟล์' },
  developers: { href: '/developers', en: 'Developers', th: 'นักพัฒนา' },
  docs: { href: '/docs', en: 'Docs', th: 'เอกสาร' },
};

export interface App {
  readonly http: FastifyInstance;
  /** The API document, once `http` is ready. */
  readonly document: () => object;
  /**
   * Makes `/readyz` fail, waits `noticeMs` so that balancers notice, and asks sockets to reconnect. Resolves when they
   * have closed, after `socketsMs` more at the latest.
   */
  drain(socketsMs: number, noticeMs?: number): Promise<void>;
}

/** Every feature, in order. */
export function createApp(runtime: Runtime): App {
  const { keys, tokenEndpoint, access, streams, presence, overlays } = runtime;
  const { config, db, newId, log, metrics, vault, zone, events, tokens, protect, profiles, tips, alerts } = runtime;
  const { clock, hub, limiter, sessions, signIn, passkeys, recovery, accounts, apps, grants, lastUsed } = runtime;
  let draining = false;
  const assets = createAssets();
  const countPost = createPostLimit(limiter);
  const pages = createPages({ authUrl: config.authUrl, assets, navigation, sessions, countPost, vault, clock, log });
  const times = createTimes(config.timeZone);
  const http = createHttp({
    config,
    newId,
    log,
    metrics,
    caller: ({ grant }) => grant,
    failed(request, reply) {
      const clientId = request.grant?.clientId ?? request.clientId;
      if (clientId !== undefined) runtime.failures.record(clientId, (at) => toFailure(request, reply, at));
    },
    elsewhere: pages.errorWriter,
  });
  http.decorateRequest('grant');
  http.decorateRequest('clientId');
  const webSockets = useWebSockets(http, webSocketOptions);
  const document = collectOpenApi(http, apiDocument(config));

  healthRoutes(http, { db, draining: () => draining });
  metadataRoutes(http, { keys, apps, baseUrl: config.baseUrl, authUrl: config.authUrl });
  oauthRoutes(http, { apps, devices: runtime.devices, tokenEndpoint });
  profileRoutes(http, { profiles, protect });
  tipRoutes(http, { tips, protect, vault, zone, rules: config });
  goalRoutes(http, { goals: runtime.goals, protect });
  alertRoutes(http, { alerts, protect, rules: config });
  webhookRoutes(http, { webhooks: runtime.webhooks, apps: runtime.apps, vault, zone });
  listenRoute(http, { webSockets, listeners: runtime.listeners, apps, limits: runtime.webhooks.limits });
  socketRoutes(http, { webSockets, events, streams, tokens, access, protect, log, baseUrl: config.baseUrl });

  overlayRoutes(http, {
    overlays,
    widgets: runtime.widgets,
    presence,
    streams,
    limiter,
    hub,
    log,
    clock,
    webSockets,
    pages,
  });

  pages.register(http, (scope) => {
    signInPages(scope, { pages, accounts, signIn, passkeys, recovery, limiter, signup: config.signup });
    accountSettingsPages(scope, { pages, accounts, sessions, passkeys, recovery, times });
    dashboardPages(scope, {
      db,
      clock,
      pages,
      tips,
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
    tipPages(scope, { pages, tips, events, overlays, webhooks: runtime.webhooks, times, limiter, rules: config });
    overlayPages(scope, { pages, overlays, presence, times, limiter });
    livePages(scope, {
      pages,
      control: runtime.control,
      moderators: runtime.moderators,
      overlays,
      streams,
      hub,
      limiter,
      clock,
      times,
    });
    screeningPages(scope, { pages, screening: runtime.screening, limiter });
    goalPages(scope, { pages, goals: runtime.goals, times, clock, zone });
    profilePages(scope, { pages, profiles, cards: runtime.cards, limiter });
    authorizePages(scope, { pages, accounts, apps, grants, vault, clock, issuer: config.authUrl });
    devicePages(scope, { pages, accounts, apps, grants, devices: runtime.devices, vault, times });
    connectedAppPages(scope, { pages, grants, lastUsed, times });
    portalPages(scope, {
      pages,
      apps,
      logos: runtime.logos,
      failures: runtime.failures,
      grants,
      webhooks: runtime.webhooks,
      times,
      zone,
      clock,
      vault,
      limiter,
      config,
    });
    docsPages(scope, { pages, document });
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
    async drain(socketsMs, noticeMs = 0) {
      draining = true;
      if (noticeMs > 0) await runtime.wait(noticeMs);
      await streams.move(socketsMs);
    },
  };
}
