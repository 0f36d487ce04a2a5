/** `import` would read every export of `node:http`, `WebSocket` among them, which loads all of undici. */
export const { createServer, ServerResponse } = process.getBuiltinModule('node:http');
