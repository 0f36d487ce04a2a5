export { profilePages } from './pages.ts';
export { profileRoutes } from './routes.ts';
export { createProfiles, type Profiles } from './service.ts';
export { createShareCards } from './share-card.ts';
