export { ends } from './ends.ts';
export { socketRoutes } from './routes.ts';
export { createStreams, type Streams } from './streams.ts';
