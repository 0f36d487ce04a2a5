export { type Access, type AccessLookup, createAccessLookup } from './access.ts';
export { type CodeRequest, type Codes, createCodes } from './codes.ts';
export { protectedErrors } from './errors.ts';
export { createGuard, limits, type Protect } from './guard.ts';
export { createKeys, type Keys } from './keys.ts';
export { allScopes, formatScopes, parseScopes, type Scope, scopes } from './scopes.ts';
export { accessTopic, createGrants, type Grants, ScopeError, type TokenResponse } from './service.ts';
export { createTokens, type Tokens } from './tokens.ts';
