export { accountPages } from './pages.ts';
export { createPasskeys } from './passkeys/service.ts';
export { createRecovery } from './recovery/service.ts';
export { type CreatorRow, setAvatarId } from './repo.ts';
export { AccountError, checkDisplayName } from './rules.ts';
export { type Accounts, createAccounts, inventPassword } from './service.ts';
export { createSessions, type Pages } from './sessions/service.ts';
export { createSignIn } from './sign-in/service.ts';
export { createThrottle } from './sign-in/throttle.ts';
