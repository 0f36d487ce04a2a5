import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { releaseReadSlot } from '../../platform/http/connections.ts';
import type { CloseReason } from './close-reasons.ts';
import { BackpressuredSocket, type Connection, type Welcome } from './connection.ts';
import type { EncodedEvents } from './encoded-events.ts';

/** How long a client gets to read the rest before the connection is cut. */
const flushTimeoutMs = 5000;

/** A client's connection for Server-Sent Events (WHATWG HTML, section 9.2). */
export class SseConnection extends BackpressuredSocket implements Connection {
  readonly #response: ServerResponse;
  readonly #headers: Readonly<Record<string, string>>;
  /** Why the connection was closed before the welcome. No response has been sent then. */
  refused: CloseReason | undefined;

  constructor(response: ServerResponse, headers: Readonly<Record<string, string>>) {
    if (!response.socket) throw new Error('The response has no socket');
    super(response.socket);
    this.#response = response;
    this.#headers = headers;
  }

  /**
   * An id without data gives the client its position without an event, so that it misses nothing if the connection
   * breaks before the first one. Simple clients skip a block that begins with a comment.
   */
  welcome({ sequence, oldest, resumed, replayed }: Welcome): void {
    releaseReadSlot(this.socket);
    this.#response.writeHead(200, this.#headers);
    this.#response.write(
      resumed === false
        ? `event: reset\nid: ${sequence}\ndata: ${JSON.stringify({ oldest, sequence })}\n\n`
        : `: welcome\nid: ${sequence - replayed}\n\n`,
    );
  }

  send(events: EncodedEvents): void {
    this.#response.write(events.sseBlocks);
  }

  /** Sends data that is no event, and so has no position. */
  notify(data: string): void {
    if (this.#response.headersSent) this.#response.write(`data: ${data}\n\n`);
  }

  keepalive(): void {
    this.#response.write(': keepalive\n\n');
  }

  /** Clients of SSE reconnect when the response ends. That must wait until this node accepts no connections. */
  reconnect(): boolean {
    return false;
  }

  close(reason: CloseReason, closeText?: string): void {
    if (!this.#response.headersSent) {
      this.refused = reason;
      return;
    }
    if (reason === 'too_slow') return void this.#response.destroy();
    const cut = setTimeout(() => this.#response.destroy(), flushTimeoutMs);
    this.#response.once('close', () => clearTimeout(cut));
    this.#response.end(closeText === undefined ? '' : `: ${closeText}\n\n`);
  }
}

/** The connection of a page's script. Only our own pages can read it. */
export const pageStream = (request: FastifyRequest, reply: FastifyReply): SseConnection =>
  new SseConnection(reply.raw, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-accel-buffering': 'no',
    'x-request-id': request.id,
  });
