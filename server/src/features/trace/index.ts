export { traceLines, viewOfApiTrace } from './lines.ts';
export type { ProgramFacts, TraceView } from './model.ts';
export { countTracePage } from './page-limit.ts';
export { traceRoutes } from './routes.ts';
export { createTraces, type Traces, toTrace } from './service.ts';
export { traceStyle, traceVerdict, traceView, webhookVerdict } from './views.ts';
