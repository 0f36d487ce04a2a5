export { createRehearsals, type Rehearsals } from './service.ts';
export { type RefusedRehearsal, startByForm } from './start.ts';
export { progressTopic } from './topics.ts';
export { rehearsalCard, rehearsalProgress } from './views.ts';
export { rehearsalWords } from './words.ts';
export { createRehearsalWorker, type RehearsalWorker } from './worker.ts';
