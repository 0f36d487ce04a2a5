export { createErasure, type Erasure, type ErasureProgress } from './service.ts';
