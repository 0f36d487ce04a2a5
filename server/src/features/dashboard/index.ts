export { connectedAppPages } from './apps-pages.ts';
export { erasePages } from './erase-pages.ts';
export { dashboardPages, liveRoute } from './pages.ts';
export { tipPages } from './tip-pages.ts';
export { tipsPages } from './tips-pages.ts';
