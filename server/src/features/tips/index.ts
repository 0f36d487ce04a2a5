export type { DayTotal } from './days.ts';
export { parseBound } from './range.ts';
export { expireAlerts, settleAlert } from './repo.ts';
export { tipRoutes } from './routes.ts';
export { type AlertStatus, type Tip, type TipRules, tipFields } from './schemas.ts';
export type { TipFilter } from './search.ts';
export { createTips, type Tips } from './service.ts';
