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
import { createDemo } from './features/demo/index.ts';
import { createEventLog } from './features/events/index.ts';
import { createGoals } from './features/goals/index.ts';
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
import { createOverlays, createPresence, createWidgets, overlayTopic } from './features/overlay/index.ts';
import { createProfiles, createShareCards } from './features/profile/index.ts';
import { createScreening } from './features/screening/index.ts';
import { createStreams } from './features/sockets/index.ts';
import { createTips, type Tips } from './features/tips/index.ts';
import { createListeners, createWebhooks, grantWrites } from './features/webhooks/index.ts';
import type { Clock } from './platform/clock.ts';
import { createIds } from './platform/ids.ts';
import { createPictures } from './platform/pictures.ts';
import type { Platform } from './platform/platform.ts';

/** All features without their routes. The server and the command line are both built on them. */
export type Services = ReturnType<typeof createServices>;

export function createServices(platform: Platform & { readonly config: Config }) {
  const { config, db, hub, limiter, clock, wait, newId, log, metrics, vault, zone, fetch } = platform;
  const events = createEventLog({ db, hub, clock, newId, zone });
  const passwords = createPasswords();
  const accounts = createAccounts({ db, clock, newId, passwords, authUrl: config.authUrl });
  const sessions = createSessions({ db, clock, newId });
  const throttle = createThrottle({ db, clock, wait });
  const signIn = createSignIn({ db, sessions, throttle, passwords });
  const passkeys = createPasskeys({ db, clock, newId, vault, sessions, authUrl: config.authUrl });
  const recovery = createRecovery({ db, clock, sessions, throttle, passwords });
  const apps = createApps({ db, clock, newId, limiter, development: config.development, authUrl: config.authUrl });
  const keys = createKeys({ db, vault, clock });
  const tokens = createTokens({
    keys,
    clock,
    issuer: config.authUrl,
    baseUrl: config.baseUrl,
    accessTokenSeconds: config.accessTokenSeconds,
  });
  const webhooks = createWebhooks({ db, hub, clock, newId, vault, fetch, limiter });
  const listeners = createListeners({ db, hub, clock, newId, vault, fetch, log, apps });
  const grants = createGrants({
    db,
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
  const access = createAccessLookup(db);
  const devices = createDevices({ db, clock, vault, limiter, authUrl: config.authUrl });
  const tokenEndpoint = createTokenEndpoint({
    db,
    clock,
    limiter,
    newId,
    tokens,
    access,
    grants,
    raceMs: config.refreshRaceMs,
    refreshIdleMs: config.refreshIdleMs,
    refreshMaxMs: config.refreshMaxMs,
    issuer: config.authUrl,
    audience: config.baseUrl,
  });
  const lastUsed = createLastUsed({ db, clock, log });
  const protect = createGuard({ tokens, access, limiter, lastUsed });
  const pictures = createPictures();
  const logos = createLogos({ db, clock, newId, pictures });
  const failures = createFailures({ db, clock, log });
  const profiles = createProfiles({
    db,
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
  const overlays = createOverlays({
    db,
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
  const control = createControl({ overlays, tips, presence });
  const moderators = createModerators({ db, hub, clock, newId });
  const widgets = createWidgets({ tips, goals, clock, zone });
  const tipsAt = (at: Clock) => {
    const own = { db, clock: at, newId: createIds(at), zone };
    return createTips({ ...own, screen, events: createEventLog({ ...own, hub }) });
  };
  const demo = createDemo({ db, accounts, apps, grants, tokens, lastUsed, overlays, goals, tipsAt, vault, clock });
  return {
    events,
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
    access,
    devices,
    tokenEndpoint,
    lastUsed,
    protect,
    profiles,
    screening,
    cards,
    tips,
    goals,
    streams,
    presence,
    alerts,
    overlays,
    control,
    moderators,
    widgets,
    webhooks,
    listeners,
    demo,
  };
}
