/**
 * Single statements that arrive together travel together (postgres-pipeline.ts). The busier the node, the more
 * statements share a round trip and a commit; one that arrives alone goes at once.
 *
 * - No caller is answered before the whole group is committed.
 * - A group waits for the one before it, unless it is full or that one is slow: then it goes beside it.
 * - Statements of one owner are never in two groups at once, of which one would wait for the other.
 * - A group that fails because of one of its statements has left nothing behind: each half runs again by itself, so
 *   that in the end only that statement fails. A group whose connection fails may have been recorded, whole: all are
 *   refused.
 * - A group is sorted by owner. As each statement locks a row of its owner first, and nodes take owners in the same
 *   order, no two groups wait for each other.
 */
import { StorageUnavailable, type Value } from './database.ts';
import { maxPipeline, type PipelinedCall, type PipelinedResult } from './postgres-pipeline.ts';
import { checkParameters, noParameters } from './statement.ts';

interface Call extends PipelinedCall {
  /** When it must be answered, on the clock of `performance.now()`. */
  readonly until: number;
  /** Whose rows it writes; empty if it writes none. */
  readonly owner: string;
}

interface Waiting extends Call {
  readonly resolve: (row: never) => void;
  readonly reject: (error: unknown) => void;
}

type Send = (until: number, calls: readonly PipelinedCall[]) => Promise<PipelinedResult[]>;

export interface BatcherOptions {
  /** How many groups may be under way. */
  readonly atOnce: number;
  readonly together: Send;
  /** Tries again while others get in the way. */
  readonly alone: Send;
}

/** A group that takes longer than this is slow: something holds it up, and what can go beside it does. */
const slowMs = 20;

export class StatementBatcher {
  readonly #options: BatcherOptions;
  #queue: Waiting[] = [];
  /** Owners of what is under way. */
  readonly #owners = new Set<string>();
  #underWay = 0;
  /** How many of these are not slow. */
  #quick = 0;
  #scheduled = false;

  constructor(options: BatcherOptions) {
    this.#options = options;
  }

  add<Row>(call: Omit<Call, 'params'> & { readonly params: readonly Value[] | undefined }): Promise<Row | undefined> {
    const { params = noParameters, ...rest } = call;
    checkParameters(call.statement, params);
    return new Promise((resolve, reject) => {
      this.#queue.push({ ...rest, params, resolve, reject });
      this.#schedule();
    });
  }

  /** At the end of the turn, so that what arrives in it goes together. */
  #schedule(): void {
    if (this.#scheduled || !this.#maySend(this.#queue)) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      const free = this.#owners.size > 0 ? this.#queue.filter(({ owner }) => !this.#owners.has(owner)) : this.#queue;
      if (!this.#maySend(free)) return;
      const group = free.slice(0, maxPipeline);
      const gone = new Set(group);
      this.#queue = this.#queue.filter((call) => !gone.has(call));
      void this.#send(group);
      this.#schedule();
    });
  }

  #maySend({ length }: readonly Waiting[]): boolean {
    return length > 0 && this.#underWay < this.#options.atOnce && (this.#quick === 0 || length >= maxPipeline);
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
      this.#schedule();
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
      for (const [i, call] of group.entries()) settle(call, results[i]);
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

function settle({ resolve, reject }: Waiting, result: PipelinedResult | undefined): void {
  if (!result) reject(new Error('PostgreSQL did not answer a statement'));
  else if ('error' in result) reject(result.error);
  else resolve(result.row as never);
}
