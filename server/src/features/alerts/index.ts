export { alertRoutes } from './routes.ts';
export { alertRequest } from './schemas.ts';
export { type Alerts, createAlerts, pageAlertLimit } from './service.ts';
