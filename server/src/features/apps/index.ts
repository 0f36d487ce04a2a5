export { basicCredentials, type Credentials } from './authentication.ts';
export { type DetailProblem, longestDescription, mostRedirectUris } from './details.ts';
export { toFailure } from './failures/failed-request.ts';
export type { FailurePosition } from './failures/repo.ts';
export { createFailures, type FailureEntry, type Failures, mostAnHour } from './failures/service.ts';
export { createLogos, type Logos } from './logos.ts';
export { type AppRow, appOfOwner, deleteApp } from './repo.ts';
export { AppError, type Apps, createApps, mostApps, redirectUrisOf, type SecretChange } from './service.ts';
export { appAbout, appLogo } from './views.ts';
