export { approveAlert, expireAlerts, replayAlert, settleAlert } from './alert-repo.ts';
export type { DayTotal } from './days.ts';
export { everything, parseBound } from './range.ts';
export { tipRoutes } from './routes.ts';
export { type AlertStatus, type Tip, type TipRules, tipFields } from './schemas.ts';
export type { TipFilter } from './search.ts';
export { createTips, type ScreenTip, type Tips } from './service.ts';
export { type Period, periods } from './supporters-repo.ts';
