export { type StoreCheck, storeConformance } from '../oauth/store-conformance.ts';
export {
  type ChaosInput,
  type ChaosKind,
  type ChaosReport,
  type ChaosRun,
  type StartOptions,
  startNamjai,
  type TestApp,
  type TestChaos,
  type TestCreator,
  type TestGrant,
  type TestNamjai,
  type TestPublicApp,
  type TestTokens,
} from './start.ts';
