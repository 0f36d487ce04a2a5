export { connectedAppPages } from './connected-apps.ts';
export { dashboardPages } from './pages.ts';
