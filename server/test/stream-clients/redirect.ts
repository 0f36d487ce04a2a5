/**
 * Preloaded into the process of the clients: who connects to the host that two of them have in their code reaches the
 * proxy of the test (STREAMLABS_PORT) instead. The name that the certificate is checked against stays.
 */
import { type NetConnectOpts, Socket } from 'node:net';

const host = 'sockets.streamlabs.com';
const port = Number(process.env.STREAMLABS_PORT);
const connect = Socket.prototype.connect;

Socket.prototype.connect = function (this: Socket, ...args: unknown[]) {
  // Node.js itself passes its normalized arguments as one array.
  const options = Array.isArray(args[0]) ? args[0][0] : args[0];
  if (isToHost(options)) Object.assign(options, { host: '127.0.0.1', port });
  return Reflect.apply(connect, this, args);
};

function isToHost(options: unknown): options is NetConnectOpts {
  return typeof options === 'object' && options !== null && 'host' in options && options.host === host;
}
