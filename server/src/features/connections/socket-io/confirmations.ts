/**
 * What a client is known to have. A pong confirms what was taken before its ping: a WebSocket keeps the order. At most one
 * such ping is on its way; pings that ask whether the client is alive are none of these.
 */
export class Confirmations {
  /** Sends a ping. Returns the position that its pong will confirm; nothing if there is nobody to ping. */
  readonly #ping: () => number | undefined;
  #pinged: number | undefined;
  /** Something was taken since the ping. */
  #hasMore = false;
  /** Nothing before the welcome. */
  position: number | undefined;

  constructor(ping: () => number | undefined) {
    this.#ping = ping;
  }

  onTaken(): void {
    if (this.#pinged === undefined) this.#pinged = this.#ping();
    else this.#hasMore = true;
  }

  onPong(): void {
    this.position = this.#pinged ?? this.position;
    this.#pinged = this.#hasMore ? this.#ping() : undefined;
    this.#hasMore = false;
  }
}
