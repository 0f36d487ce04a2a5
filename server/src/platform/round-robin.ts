/**
 * Items of several owners, taken in rotation: one of each owner, and the items of one owner in order of arrival. So an
 * owner with many items delays another's first item by one item, not by all of them.
 */
export class RoundRobin<T> {
  /** The first key is the owner whose turn is next. No list is empty. */
  readonly #items = new Map<string, T[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** How many owners have items. */
  get owners(): number {
    return this.#items.size;
  }

  /** The items of an owner, oldest first. */
  of(owner: string): readonly T[] {
    return this.#items.get(owner) ?? [];
  }

  add(owner: string, item: T): void {
    const items = this.#items.get(owner);
    if (items) items.push(item);
    else this.#items.set(owner, [item]);
    this.#size += 1;
  }

  /** The next item; with `mayTake`, of the first owner for whom it answers true. */
  take(mayTake?: (owner: string) => boolean): T | undefined {
    const owner = this.#next(mayTake);
    const items = owner === undefined ? undefined : this.#items.get(owner);
    if (owner === undefined || !items) return undefined;
    const item = items.shift();
    this.#items.delete(owner);
    if (items.length > 0) this.#items.set(owner, items);
    this.#size -= 1;
    return item;
  }

  #next(mayTake?: (owner: string) => boolean): string | undefined {
    for (const owner of this.#items.keys()) if (!mayTake || mayTake(owner)) return owner;
    return undefined;
  }

  /** The owners, and their items, oldest first. */
  entries(): Iterable<readonly [owner: string, items: readonly T[]]> {
    return this.#items.entries();
  }

  /** Removes and returns the newest item of the owner that matches. */
  removeNewest(owner: string, matches: (item: T) => boolean): T | undefined {
    const items = this.#items.get(owner);
    const at = items?.findLastIndex(matches) ?? -1;
    if (!items || at < 0) return undefined;
    const [item] = items.splice(at, 1);
    if (items.length === 0) this.#items.delete(owner);
    this.#size -= 1;
    return item;
  }
}
