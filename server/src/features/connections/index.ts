export { connectionPages } from './pages.ts';
export { type Connections, createConnections } from './service.ts';
export { socketIoRoutes } from './socket-io/routes.ts';
export { createOpenKeys } from './stream-keys/open-keys.ts';
export { createKeySends } from './stream-keys/sends.ts';
export { createStreamKeys } from './stream-keys/service.ts';
export { switchedOffNotice } from './views.ts';
