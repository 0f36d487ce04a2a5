import type { Socket } from 'node:net';
import type { CloseReason } from './close-reasons.ts';
import type { EncodedEvents } from './encoded-events.ts';

/** Where a subscriber begins, in the terms of the welcome frame. */
export interface Welcome {
  readonly sequence: number;
  readonly oldest: number | null;
  readonly resumed: boolean | null;
  readonly replayed: number;
}

/** A client to which nothing else was sent for so long gets a keepalive. */
export const keepaliveSeconds = 25;

/** A connection to a client, whatever its protocol. */
export interface Connection {
  welcome(welcome: Welcome): void;
  send(events: EncodedEvents): void;
  keepalive(): void;
  /** Asks the client to open a new connection; `false` if the protocol cannot say so. */
  reconnect(afterMs: number): boolean;
  /** `closeText` replaces the words of the reason. */
  close(reason: CloseReason, closeText?: string): void;
  /** Resolves when the socket's buffer has drained or the socket is closed. */
  drained(): Promise<void>;
  /** Bytes that wait in the socket's buffer. */
  readonly buffered: number;
  /** Bytes that the operating system has taken. */
  readonly flushed: number;
}

/** Reports the back-pressure of the TCP socket below a connection. */
export class BackpressuredSocket {
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
