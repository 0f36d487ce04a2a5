/**
 * The audit actions: every change of an account, an app, a grant or a credential, and the write that makes it.
 * audit-actions.test.ts compares the second table with the writes of all modules, so that a new write must be added here.
 */
export const auditActions = {
  'account.created': 'An account was made',
  'account.password_changed': 'The password was changed, and other sessions ended',
  'account.recovered': 'A recovery code was used to set a new password',
  'account.profile_changed': 'The public profile was changed',
  'account.suspended_or_restored': 'The operator suspended or restored the account',
  'session.started': 'Somebody signed in',
  'session.ended': 'A session was ended',
  'passkey.added': 'A passkey was added',
  'passkey.renamed': 'A passkey was renamed',
  'passkey.removed': 'A passkey was removed',
  'recovery_codes.replaced': 'New recovery codes were made',
  'overlay_key.created': 'The overlay got its first key',
  'overlay_key.replaced': 'The overlay got a new key',
  'app.created': 'An app was registered',
  'app.changed': 'An app’s details were changed',
  'app.secret_replaced': 'An app got a new client secret',
  'app.suspended_or_restored': 'The operator suspended or restored an app',
  'app.deleted': 'An app was deleted, and its grants ended',
  'grant.approved': 'A creator allowed an app to act for them',
  'grant.ended': 'An app can no longer act for a creator',
  'grant.connected': 'An app exchanged a code for tokens',
  'webhook.created': 'A webhook endpoint was registered',
  'webhook.changed': 'A webhook endpoint was changed, enabled or disabled',
  'webhook.secret_replaced': 'A webhook endpoint got a new secret',
  'webhook.removed': 'A webhook endpoint was removed',
  'webhook.disabled': 'A webhook endpoint that kept failing was disabled',
  'signing_key.created': 'A key that signs access tokens was made',
  'demo.removed': 'The demo world was removed',
} as const;

export type AuditAction = keyof typeof auditActions;

/** The write changes no account, app, grant or credential, or only by the clock. */
const none = null;

/** By module below features/, then by write. */
export const auditedWrites: Readonly<Record<string, Readonly<Record<string, AuditAction | null>>>> = {
  'accounts/repo.ts': {
    insertCreator: 'account.created',
    setPassword: 'account.password_changed',
    setSuspended: 'account.suspended_or_restored',
    updateProfile: 'account.profile_changed',
  },
  'accounts/passkeys/repo.ts': {
    consumeChallenge: none,
    deleteChallengesBefore: none,
    insertPasskey: 'passkey.added',
    signInByPasskey: 'session.started',
    renamePasskey: 'passkey.renamed',
    deletePasskey: 'passkey.removed',
  },
  'accounts/recovery/repo.ts': { replaceCodes: 'recovery_codes.replaced', signInByCode: 'account.recovered' },
  'accounts/sessions/repo.ts': {
    insertSession: 'session.started',
    touchSession: none,
    deleteSession: 'session.ended',
    deleteSessionById: 'session.ended',
    deleteSessionsExcept: 'session.ended',
    deleteSessionsBefore: none,
  },
  'accounts/sign-in/repo.ts': {
    countAttempt: none,
    clearAttempts: none,
    deleteAttemptsBefore: none,
    signInWithPassword: 'session.started',
  },
  'alerts/repo.ts': { appendAlert: none },
  'apps/repo.ts': {
    insertApp: 'app.created',
    replaceSecret: 'app.secret_replaced',
    setSuspended: 'app.suspended_or_restored',
    updateDetails: 'app.changed',
  },
  'demo/repo.ts': { insertDemoRecord: none, removeDemo: 'demo.removed' },
  'events/clock-repo.ts': { moveBack: none, repairHead: none },
  'events/repo.ts': { appendAlone: none, deleteEventsBefore: none, recountMonths: none, setCountedTimeZone: none },
  'oauth/grants/forget-repo.ts': {
    forgetRotated: none,
    forgetFamily: none,
    forgetGrant: none,
    forgetUnusedCodes: none,
    forgetApps: none,
  },
  'oauth/grants/repo.ts': { deleteAppAndGrants: 'app.deleted', upsertLastUses: none },
  'oauth/keys/repo.ts': {
    insertKey: 'signing_key.created',
    insertFirstKey: 'signing_key.created',
    deleteKeysRetiredBefore: none,
  },
  'oauth/token/authorization-code.ts': { redeemCode: 'grant.connected' },
  // A refresh is routine: apps refresh their tokens every hour.
  'oauth/token/refresh-token.ts': { redeemRefreshToken: none },
  'overlay/repo.ts': {
    insertOverlay: 'overlay_key.created',
    setKey: 'overlay_key.replaced',
    setSettings: none,
    setPaused: none,
    setPresence: none,
    settle: none,
    acknowledge: none,
    expire: none,
    deleteBefore: none,
  },
  'profile/repo.ts': { setAvatar: 'account.profile_changed', replaceUploaded: none },
  'tips/repo.ts': { recordTip: none, deleteKeysBefore: none },
  'webhooks/delivery/repo.ts': { leaseDue: none, settle: 'webhook.disabled', endLeases: none },
  'webhooks/dispatch/repo.ts': { createDeliveries: none, skipEvents: none },
  'webhooks/endpoints/repo.ts': {
    addEndpoint: 'webhook.created',
    changeEndpoint: 'webhook.changed',
    removeEndpoint: 'webhook.removed',
    replaceSecret: 'webhook.secret_replaced',
    disableFailing: 'webhook.disabled',
    insertNotice: none,
    retryDelivery: none,
    replayDeliveries: none,
    deleteDeliveries: none,
    deleteEndpointsOfDeletedApps: none,
  },
  'webhooks/grant-writes.ts': { approveGrant: 'grant.approved', endGrant: 'grant.ended' },
};
