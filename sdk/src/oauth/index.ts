export { ReauthorizationRequired } from '../error.ts';
export { type AdoptedTokens, type Connected, createOAuth, type OAuth, type OAuthOptions } from './create-oauth.ts';
export type { DeviceCode, DeviceOptions } from './device.ts';
export { AccessDenied, DeviceCodeExpired, OAuthError } from './errors.ts';
export { fileStore } from './file-store.ts';
export type { EncryptionKey } from './sealed-store.ts';
export { memoryStore, type Store } from './store.ts';
