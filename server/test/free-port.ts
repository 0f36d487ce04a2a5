import { createServer } from 'node:net';

/** Each process has ports of its own, so that two of them do not choose the same one before either listens there. */
const ports = { first: 11_000, ofProcess: 100, processes: 200 };
let chosen = 0;

/**
 * A port without a listener. It is below the ports that the system gives to outgoing connections (32768 and above on
 * Linux). Of those one may be in use by a connection when the listener comes, even by one that asks whether the listener
 * is there: on the machine itself such a connection may get the port that it connects to, and then is connected to itself.
 */
export async function freePort(): Promise<number> {
  const first = ports.first + (process.pid % ports.processes) * ports.ofProcess;
  for (let tries = 0; tries < ports.ofProcess; tries += 1) {
    const port = first + (chosen++ % ports.ofProcess);
    if (await isFree(port)) return port;
  }
  throw new Error(`No port from ${first} on is free`);
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
