export { createControl } from './control.ts';
export { createModerators } from './moderators.ts';
export { livePages } from './pages.ts';
