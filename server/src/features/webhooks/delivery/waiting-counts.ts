/** How many deliveries wait in memory, by the owner of their endpoints. */
export class WaitingCounts {
  readonly #counts = new Map<string, number>();

  of(owner: string): number {
    return this.#counts.get(owner) ?? 0;
  }

  add(owner: string, change: number): void {
    const count = this.of(owner) + change;
    if (count > 0) this.#counts.set(owner, count);
    else this.#counts.delete(owner);
  }
}
