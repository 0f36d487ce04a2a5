import type { Config } from './config.ts';
import {
  createAccounts,
  createPasskeys,
  createPasswords,
  createRecovery,
  createSessions,
  createSignIn,
  createThrottle,
} from './features/accounts/index.ts';
import { createAlerts } from './features/alerts/index.ts';
import { createApps, createFailures, createLogos } from './features/apps/index.ts';
import { createAudit } from './features/audit/index.ts';
import { createConnections, createKeySends, createOpenKeys, createStreamKeys } from './features/connections/index.ts';
import { createDemo } from './features/demo/index.ts';
import { createErasure } from './features/erasure/index.ts';
import { createEventLog } from './features/events/index.ts';
import { createGoals } from './features/goals/index.ts';
import {
  createDeletionsFile,
  createExport,
  createLeaving,
  createRowDeletion,
  createTakenNames,
} from './features/leaving/index.ts';
import { createControl, createModerators } from './features/live/index.ts';
import {
  createAccessLookup,
  createDevices,
  createGrants,
  createGuard,
  createKeys,
  createLastUsed,
  createTokenEndpoint,
  createTokens,
} from './features/oauth/index.ts';
import { createOperator } from './features/operator/index.ts';
import { createOverlays, createPresence, createWidgets, overlayTopic } from './features/overlay/index.ts';
import { createProfiles, createShareCards } from './features/profile/index.ts';
import { createRehearsals } from './features/rehearsal/index.ts';
import {
  createCallFaults,
  createChaos,
  createConsole,
  createDeliveryFaults,
  createFrameFaults,
  createSandbox,
} from './features/sandbox/index.ts';
import { createScreening } from './features/screening/index.ts';
import { createSealing } from './features/sealing/index.ts';
import { createStreams, encodeFrame } from './features/sockets/index.ts';
import { createTips, type Tips } from './features/tips/index.ts';
import { createTraces } from './features/trace/index.ts';
import { createListeners, createWebhooks, grantWrites } from './features/webhooks/index.ts';
import type { Clock } from './platform/clock.ts';
import { createIds } from './platform/ids.ts';
import { createPictures } from './platform/pictures.ts';
import type { Platform } from './platform/platform.ts';

/** All features without their routes. The server and the command line are both built on them. */
export type Services = ReturnType<typeof createServices>;

export function createServices(platform: Platform & { readonly config: Config }) {
  const { config, db, origins, hub, limiter, clock, wait, newId, log, metrics, vault, zone, fetch } = platform;
  const sealing = createSealing({ db, origins, hub, log, vault });
  const events = createEventLog({ db, origins, hub, clock, newId, zone });
  const audit = createAudit({ db, clock });
  const passwords = createPasswords({ registry: metrics.registry, wait });
  const takenNames = createTakenNames({ db, clock, newId, vault });
  const accounts = createAccounts({
    db,
    origins,
    clock,
    newId,
    passwords,
    isNameTaken: takenNames.has,
    authUrl: config.authUrl,
  });
  const sessions = createSessions({ db, origins, clock, newId, log });
  const throttle = createThrottle({ db, clock, wait });
  const signIn = createSignIn({ db, origins, log, sessions, throttle, passwords });
  const passkeys = createPasskeys({ db, origins, clock, newId, vault, sessions, authUrl: config.authUrl });
  const recovery = createRecovery({ db, origins, clock, sessions, throttle, passwords, refuse: signIn.refuse });
  const apps = createApps({
    db,
    origins,
    clock,
    newId,
    limiter,
    development: config.development,
    authUrl: config.authUrl,
  });
  const keys = createKeys({ db, origins, vault, clock });
  const tokens = createTokens({
    keys,
    clock,
    issuer: config.authUrl,
    baseUrl: config.baseUrl,
    accessTokenSeconds: config.accessTokenSeconds,
  });
  const webhooks = createWebhooks({ db, origins, hub, clock, newId, vault, fetch, limiter, log });
  const connections = createConnections({ clock, newId, fetch, webhooks, authUrl: config.authUrl });
  const listeners = createListeners({ db, hub, clock, newId, vault, fetch, log, apps });
  const grants = createGrants({
    db,
    origins,
    hub,
    clock,
    newId,
    accounts,
    apps,
    tokens,
    writes: grantWrites,
    accessTokenSeconds: config.accessTokenSeconds,
    refreshIdleMs: config.refreshIdleMs,
    refreshMaxMs: config.refreshMaxMs,
  });
  const rowDeletion = createRowDeletion({ db, grants });
  const sandbox = createSandbox({
    db,
    origins,
    clock,
    newId,
    apps,
    grants,
    rowDeletion,
    authUrl: config.authUrl,
  });
  const leaving = createLeaving({
    db,
    origins,
    clock,
    wait,
    newId,
    log,
    accounts,
    grants,
    audit,
    rowDeletion,
    sandbox,
    takenNames,
    file: config.backupDir === undefined ? undefined : createDeletionsFile(config.backupDir),
  });
  const access = createAccessLookup(db);
  const devices = createDevices({ db, clock, vault, limiter, authUrl: config.authUrl });
  const tokenEndpoint = createTokenEndpoint({
    db,
    origins,
    clock,
    limiter,
    newId,
    tokens,
    access,
    grants,
    raceMs: config.refreshRaceMs,
    accessTokenSeconds: config.accessTokenSeconds,
    refreshIdleMs: config.refreshIdleMs,
    refreshMaxMs: config.refreshMaxMs,
    issuer: config.authUrl,
    audience: config.baseUrl,
  });
  const lastUsed = createLastUsed({ db, clock, log });
  const chaos = createChaos({ db, clock, grants });
  const sandboxCall = createCallFaults({ chaos, wait, log });
  const sandboxFrames = createFrameFaults({ chaos, log });
  const sandboxDelivery = createDeliveryFaults({ chaos, sandboxOf: accounts.sandboxOf, log });
  const protect = createGuard({ tokens, access, limiter, lastUsed, sandboxCall });
  const pictures = createPictures();
  const logos = createLogos({ db, origins, clock, newId, pictures });
  const failures = createFailures({ db, clock, log });
  const profiles = createProfiles({
    db,
    origins,
    clock,
    newId,
    accounts,
    pictures,
    authUrl: config.authUrl,
    timeZone: config.timeZone,
  });
  const cards = createShareCards({ pictures, profiles, limiter });
  const screening = createScreening({ db, clock, recentNames: (creatorId) => tips.recentNames(creatorId) });
  const { screen } = screening;
  const tips: Tips = createTips({ db, events, screen, clock, newId, zone });
  const exports = createExport({ db, origins, clock, zone, tips });
  const goals = createGoals({
    db,
    clock,
    newId,
    events,
    sumTips: tips.sum,
    onChange: (creatorId) => hub.publish(overlayTopic(creatorId), 'goals'),
  });
  const streams = createStreams({ db, hub, slots: limiter.connectionSlots, events, log, metrics });
  const presence = createPresence({ db, streams, clock, log });
  const alerts = createAlerts({ db, events, screen, newId, overlaysConnected: presence.connected });
  const rehearsals = createRehearsals({ db, hub, clock, newId, log, limiter, tips, accounts, encodeFrame });
  const overlays = createOverlays({
    db,
    origins,
    hub,
    events,
    tips,
    alerts,
    clock,
    newId,
    vault,
    pictures,
    connected: presence.connected,
  });
  const streamKeys = createStreamKeys({ db, origins, hub, clock, newId });
  const openKeys = createOpenKeys({ db, hub, clock, log, events });
  const keySends = createKeySends({ db, clock, log, openKeys });
  const traces = createTraces({
    tips,
    events,
    webhooks,
    apps,
    clock,
    overlay: async (creatorId) => ({
      spans: await presence.spans(creatorId),
      ...(await overlays.switches(creatorId)),
    }),
    programs: keySends.facts,
  });
  const sandboxConsole = createConsole({
    db,
    limiter,
    tips,
    alerts,
    overlays,
    goals,
    events,
    sandbox,
    presence,
    streams,
    webhooks,
    rules: config,
  });
  const erasure = createErasure({ db, hub, clock, newId, log, events, tips });
  const control = createControl({ overlays, tips, presence });
  const moderators = createModerators({ db, origins, hub, clock, newId });
  const widgets = createWidgets({ tips, goals, clock, zone });
  const tipsAt = (at: Clock) => {
    const own = { db, origins, clock: at, newId: createIds(at), zone };
    return createTips({ ...own, screen, events: createEventLog({ ...own, hub }) });
  };
  const demo = createDemo({
    db,
    origins,
    accounts,
    apps,
    grants,
    tokens,
    lastUsed,
    overlays,
    goals,
    rowDeletion,
    tipsAt,
    vault,
    clock,
    limiter,
  });
  return {
    sealing,
    events,
    audit,
    accounts,
    sessions,
    throttle,
    signIn,
    passkeys,
    recovery,
    apps,
    logos,
    failures,
    keys,
    tokens,
    grants,
    sandbox,
    leaving,
    chaos,
    sandboxFrames,
    sandboxDelivery,
    sandboxConsole,
    access,
    devices,
    tokenEndpoint,
    lastUsed,
    protect,
    profiles,
    screening,
    cards,
    tips,
    exports,
    goals,
    streams,
    presence,
    alerts,
    rehearsals,
    overlays,
    traces,
    erasure,
    control,
    moderators,
    streamKeys,
    openKeys,
    keySends,
    widgets,
    webhooks,
    connections,
    listeners,
    demo,
    operator: createOperator({ db, accounts, apps }),
  };
}
