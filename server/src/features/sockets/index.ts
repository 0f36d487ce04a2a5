export { socketRoutes } from './routes.ts';
