export { ReauthorizationRequired } from '../error.ts';
