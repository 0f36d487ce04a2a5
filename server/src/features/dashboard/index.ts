export { connectedAppPages } from './connected-apps.ts';
