export type { PlayingAlert, RecentAlert } from './alert-lists.ts';
export { type Variations, withLook } from './looks/rules.ts';
export { overlayPages } from './pages.ts';
export { createPresence } from './presence.ts';
export { overlayRoutes } from './routes.ts';
export { controlTopic, createOverlays, type Overlays, overlayTopic } from './service.ts';
export { testWords } from './test-words.ts';
export { createWidgets } from './widgets.ts';
