export { connectedAppPages } from './apps-pages.ts';
export { liveRoute } from './live.ts';
export { dashboardPages } from './pages.ts';
export { tipsPages } from './tips-pages.ts';
