export { createSealing } from './service.ts';
