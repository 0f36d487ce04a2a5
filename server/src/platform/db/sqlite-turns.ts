/**
 * Two connections of this process write, one on the event loop and one on a thread. They take turns, first come first
 * served, so that neither ever finds the database locked by the other.
 */
export class Turns {
  #taken = false;
  readonly #waiting: (() => Promise<void>)[] = [];

  /** Somebody waits. */
  get isWanted(): boolean {
    return this.#waiting.length > 0;
  }

  /** Runs this alone, at once if nobody else has the turn. It does not fail. */
  take(run: () => Promise<void>): void {
    if (this.#taken) this.#waiting.push(run);
    else void this.#go(run);
  }

  async #go(run: () => Promise<void>): Promise<void> {
    this.#taken = true;
    for (let next: typeof run | undefined = run; next; next = this.#waiting.shift()) await next();
    this.#taken = false;
  }
}
