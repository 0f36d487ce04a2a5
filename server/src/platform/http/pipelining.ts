/**
 * A client may send requests without waiting for their answers, and a chunk of 64 KiB holds 2,000 of them. Node calls the
 * handlers of all of them in one iteration of the event loop, a tenth of a second for each connection that does this,
 * in which nobody else is answered. Here an iteration reads one request of a connection: sending more gains nothing.
 */
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

/** The end of a request's head. A body may contain it too, and is then read in a few iterations more. */
const endOfHead = '\r\n\r\n';

export function readRequestsSingly(server: Server): void {
  const upgraded = new WeakSet<Socket>();

  server.on('connection', (socket: Socket) => {
    const parsers = replaceReaders(socket, (chunk) => {
      if (upgraded.has(socket)) return;
      const first = chunk.indexOf(endOfHead);
      const more = first >= 0 && chunk.indexOf(endOfHead, first + endOfHead.length) >= 0;
      const end = more ? first + endOfHead.length : chunk.length;
      for (const parse of parsers) Reflect.apply(parse, socket, [more ? chunk.subarray(0, end) : chunk]);
      if (!more || socket.destroyed) return;
      // Node pauses a client that does not read its answers, and resumes it itself.
      const held = socket.isPaused();
      socket.pause();
      socket.unshift(chunk.subarray(end));
      if (!held) setImmediate(() => socket.resume());
    });
  });

  // From here on the bytes are no requests.
  server.prependListener('upgrade', (_request: IncomingMessage, socket: Socket) => void upgraded.add(socket));
}

/**
 * Returns the former listeners. They are removed after the new one is added: an emitter without a listener for an event
 * that it had takes 800 bytes more, because V8 then keeps its events as a hash table.
 */
export function replaceReaders(socket: Socket, read: (chunk: Buffer) => void) {
  const former = socket.listeners('data');
  socket.on('data', read);
  for (const listener of former) socket.off('data', listener as typeof read);
  return former;
}
