import type { Socket } from 'node:net';

/** What every kind of connection knows of the line below it. */
export class Line {
  protected readonly socket: Socket;

  constructor(socket: Socket) {
    this.socket = socket;
  }

  get buffered(): number {
    return this.socket.writableLength;
  }

  get flushed(): number {
    return this.socket.bytesWritten - this.socket.writableLength;
  }

  drained(): Promise<void> {
    if (!this.socket.writableNeedDrain || this.socket.destroyed) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        this.socket.off('drain', done).off('close', done);
        resolve();
      };
      this.socket.on('drain', done).on('close', done);
    });
  }
}
