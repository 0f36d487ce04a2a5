export { portalPages } from './routes.ts';
