export { basicCredentials, type Credentials } from './authentication.ts';
export { type DetailProblem, mostRedirectUris } from './details.ts';
export { type AppRow, deleteApp } from './repo.ts';
export { AppError, type Apps, createApps, mostApps, redirectUrisOf } from './service.ts';
