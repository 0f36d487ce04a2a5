export { type StoreCheck, storeConformance } from '../oauth/store-conformance.ts';
export {
  type StartOptions,
  startNamjai,
  type TestApp,
  type TestCreator,
  type TestGrant,
  type TestNamjai,
  type TestPublicApp,
  type TestTokens,
} from './start.ts';
