export { type Authentication, basicCredentials, type Credentials } from './authentication.ts';
export type { AppRow } from './repo.ts';
export { AppError, type Apps, createApps } from './service.ts';
