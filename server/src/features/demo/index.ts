export { createDemo, type Demo } from './service.ts';
