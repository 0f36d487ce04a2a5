export { portalPages } from './pages.ts';
