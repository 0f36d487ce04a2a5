import type { ServerResponse } from 'node:http';
import type { Batch } from './batch.ts';
import type { CloseReason } from './close-reasons.ts';
import { Line } from './line.ts';
import type { Start, Wire } from './member.ts';

/** How long a client gets to take the rest before the line is cut. */
const farewellMs = 5000;

/** The stream as Server-Sent Events. */
export class EventStream extends Line implements Wire {
  readonly #response: ServerResponse;
  readonly #headers: Readonly<Record<string, string>>;
  /** Set when it was ended before it began: then nothing has been answered yet. */
  refused: CloseReason | undefined;

  constructor(response: ServerResponse, headers: Readonly<Record<string, string>>) {
    if (!response.socket) throw new Error('The response has no socket');
    super(response.socket);
    this.#response = response;
    this.#headers = headers;
  }

  /**
   * An id without data gives the client its position without an event, so that it misses nothing if the line is cut
   * before the first one. In a block that begins with a comment even simple clients pass over it.
   */
  welcome({ sequence, oldest, resumed, replayed }: Start): void {
    this.#response.writeHead(200, this.#headers);
    this.#response.write(
      resumed === false
        ? `event: reset\nid: ${sequence}\ndata: ${JSON.stringify({ oldest, sequence })}\n\n`
        : `: welcome\nid: ${sequence - replayed}\n\n`,
    );
  }

  send(batch: Batch): void {
    this.#response.write(batch.blocks);
  }

  keepalive(): void {
    this.#response.write(': keepalive\n\n');
  }

  /** Clients reconnect by themselves when the stream ends, and that can only be once nobody listens here any more. */
  reconnect(): boolean {
    return false;
  }

  end(reason: CloseReason): void {
    if (!this.#response.headersSent) {
      this.refused = reason;
      return;
    }
    if (reason === 'too_slow') return void this.#response.destroy();
    const cut = setTimeout(() => this.#response.destroy(), farewellMs);
    this.#response.once('close', () => clearTimeout(cut));
    this.#response.end();
  }
}
