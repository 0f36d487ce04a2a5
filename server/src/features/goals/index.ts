export { maxTargetMinor, maxTitle } from './form.ts';
export { goalPages } from './pages.ts';
export { goalRoutes } from './routes.ts';
export { createGoals, type Goals } from './service.ts';
