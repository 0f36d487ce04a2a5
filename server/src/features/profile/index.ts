export { profilePages } from './pages.ts';
export { profileRoutes } from './routes.ts';
export { createProfiles } from './service.ts';
