export { countChange } from './change-limit.ts';
export { nameKey } from './fold.ts';
export { screeningPages } from './pages.ts';
export { addKnownName, removeKnownName } from './repo.ts';
export { createScreening, type Screening } from './service.ts';
