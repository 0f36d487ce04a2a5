export { docsPages } from './pages.ts';
