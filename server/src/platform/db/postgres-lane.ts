/**
 * Calls of one statement that arrive together travel together (postgres-group.ts). The busier it is, the more share a
 * round trip and a commit; a call that finds nobody else goes at once.
 *
 * - Nobody is answered before the whole group is committed.
 * - A group waits for the one before it, unless it is full or that one is slow: then it goes beside it.
 * - What one owner writes is never in two groups at once, of which one would wait for the other.
 * - A group that fails because of one of its statements has left nothing behind: each half is run again by itself, so
 *   that in the end only that one fails. A group whose connection fails may have been recorded, whole: all are refused.
 * - A group is sorted by owner. As each statement locks a row of its owner first, and nodes take owners in the same
 *   order, no two groups wait for each other.
 */
import { StorageUnavailable, type Value } from './database.ts';
import { type GroupedCall, type GroupedResult, maxGroup } from './postgres-group.ts';
import { checkParameters, noParameters } from './statement.ts';

interface Call extends GroupedCall {
  /** When it must be answered, on the clock of `performance.now()`. */
  readonly until: number;
  /** Whose rows it writes; empty if it writes none. */
  readonly owner: string;
}

interface Waiting extends Call {
  readonly resolve: (row: never) => void;
  readonly reject: (error: unknown) => void;
}

type Send = (until: number, calls: readonly GroupedCall[]) => Promise<GroupedResult[]>;

export interface LaneOptions {
  /** How many groups may be under way. */
  readonly atOnce: number;
  readonly together: Send;
  /** Tries again while others get in the way. */
  readonly alone: Send;
}

/** A group that takes longer than this is slow: something holds it up, and what can go beside it does. */
const slowMs = 20;

export class Lane {
  readonly #options: LaneOptions;
  #queue: Waiting[] = [];
  /** Owners of what is under way. */
  readonly #owners = new Set<string>();
  #underWay = 0;
  /** How many of these are not slow. */
  #quick = 0;
  #due = false;

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  add<Row>(call: Omit<Call, 'params'> & { readonly params: readonly Value[] | undefined }): Promise<Row | undefined> {
    const { params = noParameters, ...rest } = call;
    checkParameters(call.statement, params);
    return new Promise((resolve, reject) => {
      this.#queue.push({ ...rest, params, resolve, reject });
      this.#goOn();
    });
  }

  /** At the end of the turn, so that what arrives in it goes together. */
  #goOn(): void {
    if (this.#due || !this.#mayGo(this.#queue)) return;
    this.#due = true;
    setImmediate(() => {
      this.#due = false;
      const free = this.#owners.size > 0 ? this.#queue.filter(({ owner }) => !this.#owners.has(owner)) : this.#queue;
      if (!this.#mayGo(free)) return;
      const group = free.slice(0, maxGroup);
      const gone = new Set(group);
      this.#queue = this.#queue.filter((call) => !gone.has(call));
      void this.#send(group);
      this.#goOn();
    });
  }

  #mayGo({ length }: readonly Waiting[]): boolean {
    return length > 0 && this.#underWay < this.#options.atOnce && (this.#quick === 0 || length >= maxGroup);
  }

  async #send(group: Waiting[]): Promise<void> {
    const owners = new Set(group.map(({ owner }) => owner).filter((owner) => owner !== ''));
    for (const owner of owners) this.#owners.add(owner);
    this.#underWay += 1;
    this.#quick += 1;
    let quick = true;
    const isSlow = (): void => {
      if (quick) this.#quick -= 1;
      quick = false;
      this.#goOn();
    };
    const timer = setTimeout(isSlow, slowMs);
    // Within an owner the order of arrival stays: the sort is stable.
    await this.#run(group.sort((a, b) => (a.owner < b.owner ? -1 : a.owner > b.owner ? 1 : 0)));
    clearTimeout(timer);
    for (const owner of owners) this.#owners.delete(owner);
    this.#underWay -= 1;
    isSlow();
  }

  async #run(group: readonly Waiting[], send = this.#options.together): Promise<void> {
    const until = Math.min(...group.map((call) => call.until));
    try {
      const results = await send(until, group);
      for (const [i, call] of group.entries()) settle(call, results[i]!);
    } catch (error) {
      const { alone } = this.#options;
      if (error instanceof StorageUnavailable || send === alone) for (const { reject } of group) reject(error);
      else for (const half of halves(group)) await this.#run(half, half.length > 1 ? send : alone);
    }
  }
}

function halves<T>(list: readonly T[]): (readonly T[])[] {
  const half = list.length >> 1;
  return half > 0 ? [list.slice(0, half), list.slice(half)] : [list];
}

function settle({ resolve, reject }: Waiting, result: GroupedResult): void {
  if ('error' in result) reject(result.error);
  else resolve(result.row as never);
}
