export { alertRoutes } from './routes.ts';
export { type Alerts, createAlerts } from './service.ts';
