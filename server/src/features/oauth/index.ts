export { authorizePages } from './authorize/pages.ts';
export { devicePages } from './device/pages.ts';
export { claimDevice } from './device/repo.ts';
export { createDevices } from './device/service.ts';
export { type Access, type AccessLookup, createAccessLookup } from './grants/access.ts';
export { createLastUsed, type LastUsed } from './grants/last-used.ts';
export {
  type Approval,
  approveGrant,
  type ConnectedCreatorRow as ConnectedCreator,
  type ConnectionRow as Connection,
  endGrant,
  type GrantEnd,
  type GrantWrites,
} from './grants/repo.ts';
export { accessTopic, createGrants, type Grants } from './grants/service.ts';
export { createGuard, type Protect, protectedErrors } from './guard.ts';
export { createKeys } from './keys/service.ts';
export { createTokens, type TokenSubject, type Tokens } from './keys/tokens.ts';
export { type AppLimitGroup, checkLimit, limitPolicy, limits, rateLimited } from './limits.ts';
export { metadataRoutes } from './routes.ts';
export { allScopes, formatScopes, parseScopes, scopeList, scopes } from './scopes.ts';
export { oauthRoutes } from './token/routes.ts';
export { createTokenEndpoint } from './token/service.ts';
