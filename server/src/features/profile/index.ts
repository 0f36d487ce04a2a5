export { profileRoutes } from './routes.ts';
export { createProfiles, type Profiles } from './service.ts';
