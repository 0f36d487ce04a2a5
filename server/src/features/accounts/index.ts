export { type AccountPagesParts, accountPages } from './pages.ts';
export type { CreatorRow } from './repo.ts';
export { AccountError, type Accounts, createAccounts, inventPassword } from './service.ts';
export { createSessions, type Session, type Sessions } from './sessions.ts';
export { createSignIn, type SignIn } from './sign-in.ts';
export { createThrottle, type Throttle } from './throttle.ts';
export { createPages, type Pages, visitorOf } from './web.ts';
