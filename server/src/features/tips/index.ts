export { tipExample } from './examples.ts';
export { parseBound } from './range.ts';
export { tipRoutes } from './routes.ts';
export { type AlertStatus, type Tip, type TipRules, tipFields } from './schemas.ts';
export { createTips, type Tips } from './service.ts';
