/**
 * Counts of commits. On SQLite they are in memory that the writing thread shares with the event loop: the thread counts,
 * the event loop reads, and neither sends the other a message for it.
 */
export class CommitStats {
  readonly memory: SharedArrayBuffer;
  readonly #counts: Float64Array;

  constructor(memory = new SharedArrayBuffer(3 * Float64Array.BYTES_PER_ELEMENT)) {
    this.memory = memory;
    this.#counts = new Float64Array(memory);
  }

  /** One commit of so many writes. */
  count(writes: number, seconds: number): void {
    this.#add(0, 1);
    this.#add(1, writes);
    this.#add(2, seconds);
  }

  /** Since the start. */
  read(): { readonly commits: number; readonly writes: number; readonly seconds: number } {
    const [commits = 0, writes = 0, seconds = 0] = this.#counts;
    return { commits, writes, seconds };
  }

  #add(index: number, amount: number): void {
    this.#counts[index] = (this.#counts[index] ?? 0) + amount;
  }
}
