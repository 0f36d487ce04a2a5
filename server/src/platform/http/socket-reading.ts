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
 * Puts bytes back, to be read again, and reads no more until then. `pause` alone does not stop that: Node.js goes on until
 * the stream is as full as it may be, 64 KiB, in single bytes if they come so, and none of it is seen by anybody.
 */
export function putBack(socket: Socket, bytes: Buffer): void {
  socket.pause();
  socket.unshift(bytes);
  setMaxBuffered(socket, 1);
}

/** Reads on, at once and first what was put back. */
export function resumeReading(socket: Socket): void {
  setMaxBuffered(socket, getDefaultHighWaterMark(false));
  socket.resume();
  socket.read();
}

/** It can be set only when a stream is made, and Node.js makes those of a server. */
function setMaxBuffered(socket: Socket, bytes: number): void {
  (socket as unknown as { _readableState: { highWaterMark: number } })._readableState.highWaterMark = bytes;
}
