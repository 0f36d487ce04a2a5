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
  const listeners = new WeakMap<Socket, (chunk: Buffer) => void>();

  server.on('connection', (socket: Socket) => {
    const parsers = socket.listeners('data');
    function read(chunk: Buffer): void {
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
    }
    listeners.set(socket, read);
    socket.removeAllListeners('data').on('data', read);
  });

  // From here on the bytes are no requests. Node removes only its own listener.
  server.prependListener('upgrade', (_request: IncomingMessage, socket: Socket) => {
    const read = listeners.get(socket);
    if (read) socket.off('data', read);
  });
}
