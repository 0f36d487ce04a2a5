import type { Socket } from 'node:net';
import { getDefaultHighWaterMark } from 'node:stream';

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

/**
 * Puts bytes back into the stream, and reads no more of the connection until `resumeReading`. To pause the stream is not
 * enough: Node.js would go on filling its buffer, up to 64 KiB, byte by byte if they come so, and nothing would count it.
 */
export function putBack(socket: Socket, bytes: Buffer): void {
  socket.pause();
  socket.unshift(bytes);
  setMaxBuffered(socket, 1);
}

/** Reads again, at once: first what was put back. */
export function resumeReading(socket: Socket): void {
  setMaxBuffered(socket, getDefaultHighWaterMark(false));
  socket.resume();
  socket.read();
}

/** The limit is an option of a stream's constructor only, and Node.js itself makes the streams of a server. */
function setMaxBuffered(socket: Socket, bytes: number): void {
  (socket as unknown as { _readableState: { highWaterMark: number } })._readableState.highWaterMark = bytes;
}
