export { createDeletionsFile } from './deletions-file.ts';
export { createErase, type Erase } from './erase.ts';
export { createExport } from './export.ts';
export { leavingPages } from './pages.ts';
export { createLeaving } from './service.ts';
export { createTakenNames } from './taken-names.ts';
