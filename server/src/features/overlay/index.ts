export { overlayPages } from './pages.ts';
export { createPresence } from './presence.ts';
export { overlayRoutes } from './routes.ts';
export { createOverlays, type Overlays } from './service.ts';
