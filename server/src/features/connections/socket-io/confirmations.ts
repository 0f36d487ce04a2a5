/**
 * What a client is known to have. A pong confirms what was taken before its ping: a WebSocket keeps the order. There is one
 * ping on its way at most.
 */
export class Confirmations {
  /** Sends a ping. Returns the position that its pong will confirm; nothing if there is nobody to ping. */
  readonly #ping: () => number | undefined;
  #pinged: number | undefined;
  /** Something was taken since the ping. */
  #hasMore = false;
  /** Nothing before the welcome. */
  position: number | undefined;
  pongs = 0;

  constructor(ping: () => number | undefined) {
    this.#ping = ping;
  }

  onTaken(): void {
    if (this.#pinged === undefined) this.#pinged = this.#ping();
    else this.#hasMore = true;
  }

  onPong(): void {
    this.pongs += 1;
    this.position = this.#pinged ?? this.position;
    this.#pinged = this.#hasMore ? this.#ping() : undefined;
    this.#hasMore = false;
  }
}
