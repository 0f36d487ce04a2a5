export type { AppRow } from './repo.ts';
export { AppError, type Apps, createApps } from './service.ts';
