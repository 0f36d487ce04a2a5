export type { CreatorRow } from './repo.ts';
export { AccountError, type Accounts, createAccounts, inventPassword } from './service.ts';
