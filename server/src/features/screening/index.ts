export { nameKey } from './fold.ts';
export { screeningPages } from './pages.ts';
export { addKnownName } from './repo.ts';
export { createScreening } from './service.ts';
