export { authorizePages } from './authorize/pages.ts';
export { callerTrace } from './caller-trace.ts';
export { chaosHeader, type SandboxCall } from './chaos.ts';
export { devicePages } from './device/pages.ts';
export { claimDevice } from './device/repo.ts';
export { createDevices } from './device/service.ts';
export { type Access, type AccessLookup, createAccessLookup } from './grants/access.ts';
export type {
  ConnectedCreatorRow as ConnectedCreator,
  ConnectionRow as Connection,
} from './grants/connections-repo.ts';
export { createLastUsed, type LastUsed } from './grants/last-used.ts';
export type { BetweenWrites } from './grants/prune.ts';
export {
  type Approval,
  approveGrant,
  type EndedGrant,
  endGrant,
  type GrantEnd,
  type GrantWrites,
  setGrantPaused,
} from './grants/repo.ts';
export { accessTopic, createGrants, type Grants } from './grants/service.ts';
export { createGuard, type Protect, protectedErrors, tokenExpired } from './guard.ts';
export { createKeys } from './keys/service.ts';
export { createTokens, socketSeconds, type TokenSubject, type Tokens } from './keys/tokens.ts';
export { type AppLimitGroup, checkLimit, limitPolicy, limits, rateLimited } from './limits.ts';
export { metadataRoutes } from './routes.ts';
export { scopeList } from './scope-views.ts';
export { allScopes, formatScopes, knownScopes, parseScopes, type Scope, scopes } from './scopes.ts';
export { oauthRoutes } from './token/routes.ts';
export { createTokenEndpoint } from './token/service.ts';
