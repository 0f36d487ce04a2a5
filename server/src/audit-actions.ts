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
  'account.export_made': 'Everything that is stored about the account was exported',
  'account.deletion_asked': 'The deletion of the account was asked for',
  'account.restored': 'The deletion of the account was undone',
  'account.deleted': 'The account was deleted',
  'session.started': 'Somebody signed in',
  'session.refused': 'Somebody gave a wrong password or recovery code',
  'session.ended': 'A session was ended',
  'passkey.added': 'A passkey was added',
  'passkey.renamed': 'A passkey was renamed',
  'passkey.removed': 'A passkey was removed',
  'recovery_codes.replaced': 'New recovery codes were made',
  'overlay_key.created': 'The overlay got its first key',
  'overlay_key.replaced': 'The overlay got a new key',
  'moderator_link.created': 'A moderator link was made',
  'moderator_link.revoked': 'A moderator link was revoked',
  'stream_key.created': 'A stream key was made',
  'stream_key.revoked': 'A stream key was revoked',
  'app.created': 'An app was registered',
  'app.changed': 'An app’s details were changed',
  'app.secret_replaced': 'An app got a new client secret',
  'app.suspended_or_restored': 'The operator suspended or restored an app',
  'app.deleted': 'An app was deleted, and its grants ended',
  'grant.approved': 'A creator allowed an app to act for them',
  'grant.token_made': 'A developer made a token of their app for their own account or a sandbox creator',
  'grant.ended': 'An app, or one device of it, can no longer act for a creator',
  'grant.connected': 'An app exchanged a code for tokens',
  'grant.reuse_detected': 'A used code or refresh token came back: its tokens were ended',
  'sandbox.created': 'A developer made a sandbox creator',
  'sandbox.removed': 'A developer removed a sandbox creator',
  'webhook.created': 'A webhook endpoint was registered',
  'webhook.changed': 'A webhook endpoint was changed, enabled or disabled',
  'webhook.secret_replaced': 'A webhook endpoint got a new secret',
  'webhook.removed': 'A webhook endpoint was removed',
  'webhook.disabled': 'A webhook endpoint that kept failing was disabled',
  'connection.added': 'A creator’s connection was added',
  'connection.changed': 'A creator’s connection was changed, switched on or off',
  'connection.removed': 'A creator’s connection was removed',
  'signing_key.created': 'A key that signs access tokens was made',
  'secret_key.rotated': 'The operator replaced the key that seals secrets at rest',
  'demo.removed': 'The demo world was removed',
} as const;

export type AuditAction = keyof typeof auditActions;

/**
 * The write changes no account, app, grant or credential, or only by the clock. A comment gives the reason for each write
 * that does change one and leaves no row.
 */
const none = null;

/** One of several writes of an operation. Another write of it leaves the row with this action. */
interface Part {
  readonly partOf: AuditAction;
}
const partOf = (action: AuditAction): Part => ({ partOf: action });

type Actions = AuditAction | readonly AuditAction[] | Part | null;

/** By module below features/, then by write. Of several actions the result decides which it was. */
export const auditedWrites: Readonly<Record<string, Readonly<Record<string, Actions>>>> = {
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
    refuseSignIn: 'session.refused',
    signInWithPassword: 'session.started',
  },
  'alerts/repo.ts': { appendAlert: none },
  'apps/failures/repo.ts': { addFailures: none, deleteBefore: none },
  'apps/repo.ts': {
    insertApp: 'app.created',
    // Every server has it.
    insertCliApp: none,
    replaceSecret: 'app.secret_replaced',
    setLogo: 'app.changed',
    setSuspended: 'app.suspended_or_restored',
    updateDetails: 'app.changed',
  },
  'connections/stream-keys/repo.ts': {
    insertKey: 'stream_key.created',
    deleteKey: 'stream_key.revoked',
    openKey: none,
    answerProbe: none,
    forgetNodes: none,
    savePositions: none,
    renewNode: none,
    closeKey: none,
  },
  'connections/stream-keys/sends-repo.ts': { saveSends: none },
  'audit/repo.ts': { deleteEntriesBefore: none, eraseEntries: none },
  'dashboard/repo.ts': { addSteps: none },
  'demo/repo.ts': { insertDemoRecord: none, removeDemo: 'demo.removed' },
  'erasure/repo.ts': { eraseTipTexts: none, insertErasure: none, advance: none, finish: none },
  'events/clock-repo.ts': { moveBack: none, repairHead: none, moveWaiting: none, moveFew: none },
  'events/repo.ts': { appendAlone: none, deleteEventsBefore: none, recountMonths: none, setCountedTimeZone: none },
  'leaving/delete-rows-repo.ts': {
    deleteRows: none,
    deleteRowsOfApps: none,
    deleteDeliveries: none,
    releaseApps: partOf('account.deleted'),
  },
  'leaving/repo.ts': {
    recordExport: 'account.export_made',
    askDeletion: 'account.deletion_asked',
    undoDeletion: 'account.restored',
    beginDeletion: partOf('account.deleted'),
    renewLease: none,
    finishDeletion: 'account.deleted',
    setCleaned: none,
    forgetDeletions: none,
    // Repeats in a restored copy what the owner asked for before. The row of that request may be lost with the rest.
    applyAsked: none,
  },
  'live/repo.ts': { insertLink: 'moderator_link.created', deleteLink: 'moderator_link.revoked' },
  'oauth/grants/prune-repo.ts': {
    deleteRotatedTokens: none,
    pruneFamily: none,
    pruneGrant: none,
    deleteUnusedCodes: none,
    deleteUnusedApps: none,
  },
  'oauth/grants/app-end-repo.ts': { deleteApp: 'app.deleted', endGrantsOfApp: 'grant.ended' },
  'oauth/grants/repo.ts': { upsertLastUses: none },
  'oauth/device/repo.ts': { insertDevice: none, denyDevice: none, deleteDevicesBefore: none },
  'oauth/keys/repo.ts': {
    insertKey: 'signing_key.created',
    insertFirstKey: 'signing_key.created',
    deleteKeysRetiredBefore: none,
  },
  'oauth/token/authorization-code.ts': { redeemCode: ['grant.connected', 'grant.reuse_detected'] },
  'oauth/token/device-code.ts': { redeemDeviceCode: 'grant.connected' },
  // A refresh that succeeds is routine: apps refresh their tokens every hour.
  'oauth/token/refresh-token.ts': { redeemRefreshToken: 'grant.reuse_detected' },
  'overlay/outcome-repo.ts': { recordOutcomes: none, approve: none, acknowledge: none, expire: none, replay: none },
  'rehearsal/repo.ts': {
    insertRehearsal: none,
    take: none,
    renew: none,
    step: none,
    end: none,
    endExpired: none,
    endPlaying: none,
  },
  'overlay/repo.ts': {
    insertOverlay: 'overlay_key.created',
    setKey: 'overlay_key.replaced',
    setSettings: none,
    setPaused: none,
    setHidden: none,
    setVolume: none,
    stopPlaying: none,
    setPresence: none,
    deleteBefore: none,
  },
  'overlay/looks/repo.ts': { changeLooks: none, setVoices: none },
  'profile/repo.ts': { setAvatar: 'account.profile_changed', replaceUploaded: none },
  // Chaos changes nothing of a real account, and nothing of a grant for good.
  'sandbox/chaos/repo.ts': {
    count: none,
    addTip: none,
    save: none,
    stop: none,
    setReport: none,
    deleteFaultsBefore: none,
    deleteOfDeletedApps: none,
  },
  'sandbox/repo.ts': {
    insertSandbox: 'sandbox.created',
    // The name of a creator who is made up.
    renameSandbox: none,
    startRemoval: 'sandbox.removed',
    deleteCreator: partOf('sandbox.removed'),
  },
  'sealing/repo.ts': {
    beginRotation: 'secret_key.rotated',
    completeRotation: none,
    setNode: none,
    deleteNode: none,
    replaceSealed: none,
  },
  'screening/repo.ts': { saveRules: none, addKnownNames: none },
  'goals/repo.ts': { addGoal: none, changeGoal: none, endGoal: none, deleteGoal: none },
  'tips/supporters-repo.ts': { countTips: none },
  'tips/void-repo.ts': { voidTip: none },
  'tips/repo.ts': { recordTip: none, deleteKeysBefore: none },
  'webhooks/delivery/repo.ts': {
    leaseDue: none,
    settle: 'webhook.disabled',
    endLeases: none,
  },
  'webhooks/delivery/disable-repo.ts': { skipPending: none },
  'webhooks/delivery/cancel-repo.ts': { cancelPending: none },
  'webhooks/dispatch/repo.ts': { createDeliveries: none, skipEvents: none },
  'webhooks/endpoints/connection-repo.ts': {
    addConnection: 'connection.added',
    changeConnection: 'connection.changed',
    removeConnection: 'connection.removed',
    sendToConnection: none,
  },
  'webhooks/endpoints/prune-repo.ts': { deleteDeliveries: none, deleteEndpointsOfDeletedApps: none },
  'webhooks/endpoints/secret-repo.ts': { replaceSecret: 'webhook.secret_replaced' },
  'webhooks/endpoints/repo.ts': {
    addEndpoint: 'webhook.created',
    changeEndpoint: 'webhook.changed',
    removeEndpoint: 'webhook.removed',
    disableFailing: 'webhook.disabled',
  },
  'webhooks/endpoints/delivery-log-repo.ts': { insertNotice: none, retryDelivery: none, replayDeliveries: none },
  // A listener opens and closes whenever a developer tries something.
  'webhooks/listener/repo.ts': {
    openListener: none,
    closeListener: none,
    renewListener: none,
    endExpired: none,
    endOthers: none,
    cancelClosed: none,
  },
  'webhooks/grant-writes.ts': {
    approveGrant: 'grant.approved',
    approveOwnGrant: 'grant.token_made',
    approveDevice: 'grant.approved',
    endGrant: 'grant.ended',
  },
};
