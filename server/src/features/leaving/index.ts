export { createRowDeletion, type RowDeletion } from './delete-rows.ts';
export { createDeletionsFile } from './deletions-file.ts';
export { createExport } from './export.ts';
export { leavingPages } from './pages.ts';
export { createLeaving } from './service.ts';
export { createTakenNames } from './taken-names.ts';
