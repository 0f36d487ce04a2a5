export { countChange } from './change-limit.ts';
export { nameKey } from './fold.ts';
export { screeningPages } from './pages.ts';
export { addKnownName, forgetKnownName } from './repo.ts';
export { createScreening, type Screening } from './service.ts';
