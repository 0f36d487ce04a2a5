import { createServer, type Server } from 'node:net';

const ports = { first: 11_000, ofProcess: 100, processes: 200 };
let range: Promise<number> | undefined;
let chosen = 0;

/**
 * A port without a listener, from a range that no other process chooses from: a server that is started again must find
 * its port free, and not another test's server there.
 *
 * It is below the ports that the system gives to outgoing connections (32768 and above on Linux). Of those one may be in
 * use by a connection when the listener comes, even by one that asks whether the listener is there: on the machine
 * itself such a connection may get the port that it connects to, and then is connected to itself.
 */
export async function freePort(): Promise<number> {
  range ??= claimRange();
  const first = await range;
  for (let tries = 1; tries < ports.ofProcess; tries += 1) {
    const port = first + 1 + (chosen++ % (ports.ofProcess - 1));
    const listener = await listen(port);
    if (!listener) continue;
    await new Promise((closed) => listener.close(closed));
    return port;
  }
  throw new Error(`No port from ${first} on is free`);
}

/** Listens on the first port of a range as long as this process lives, which tells the others that it is taken. */
async function claimRange(): Promise<number> {
  for (let i = 0; i < ports.processes; i += 1) {
    const first = ports.first + ((process.pid + i) % ports.processes) * ports.ofProcess;
    const listener = await listen(first);
    if (!listener) continue;
    listener.unref();
    return first;
  }
  throw new Error(`Every range of ports from ${ports.first} on is taken`);
}

/** Undefined if something else listens there. */
const listen = (port: number): Promise<Server | undefined> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
