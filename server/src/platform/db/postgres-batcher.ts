/**
 * Single statements that arrive together travel together (postgres-pipeline.ts). The busier the node, the more
 * statements share a round trip and a commit; one that arrives alone goes at once.
 *
 * - No caller is answered before the whole group is committed.
 * - A group waits for the one before it, unless it is full or that one is slow: then it goes beside it.
 * - A call whose time is up before it was sent is not sent. A group has as long as its youngest call; each call is
 *   answered in its own time by who made it (postgres.ts).
 * - Statements of one owner are never in two groups at once, of which one would wait for the other.
 * - A group that fails because of one of its statements, or because a row of its owner is locked, has left nothing
 *   behind. What that owner wrote runs alone and in order, beside everything else; the rest runs again together. A group
 *   whose connection fails may have been recorded, whole: all are refused.
 * - A group is sorted by owner. As each statement locks a row of its owner first, and nodes take owners in the same
 *   order, no two groups wait for each other.
 */
import type { Value } from './database.ts';
import { maxPipeline, type PipelinedCall, type PipelinedResult, PipelineFailure } from './postgres-pipeline.ts';
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

export interface BatcherOptions {
  /** How many groups may be under way. */
  readonly atOnce: number;
  /** Rejects with `PipelineFailure` if one of the statements is why. */
  readonly together: (until: number, calls: readonly PipelinedCall[]) => Promise<PipelinedResult[]>;
  /** Tries again while others get in the way. */
  readonly alone: (until: number, call: PipelinedCall) => Promise<PipelinedResult | undefined>;
}

/** A group that takes longer than this is slow: something holds it up, and what can go beside it does. */
const slowMs = 5;

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
      const now = performance.now();
      if ((this.#queue[0]?.until ?? now) <= now) this.#queue = this.#queue.filter(({ until }) => until > now);
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
    const owners = ownersOf(group);
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
    const apart = await this.#run(group.sort((a, b) => (a.owner < b.owner ? -1 : a.owner > b.owner ? 1 : 0)));
    clearTimeout(timer);
    for (const owner of owners) if (!apart.has(owner)) this.#owners.delete(owner);
    this.#underWay -= 1;
    isSlow();
  }

  /** Answers the owners of what still runs alone. */
  async #run(group: readonly Waiting[]): Promise<Set<string>> {
    const until = Math.max(...group.map((call) => call.until));
    try {
      const results = await this.#options.together(until, group);
      for (const [i, call] of group.entries()) settle(call, results[i]);
      return new Set();
    } catch (error) {
      if (!(error instanceof PipelineFailure)) {
        for (const { reject } of group) reject(error);
        return new Set();
      }
      const culprit = group[error.index];
      const goesAlone = (call: Waiting): boolean =>
        culprit === undefined || call === culprit || (call.owner !== '' && call.owner === culprit.owner);
      const apart = group.filter(goesAlone);
      void this.#runAlone(apart);
      const rest = group.filter((call) => !goesAlone(call));
      const others = rest.length > 0 ? await this.#run(rest) : new Set<string>();
      return new Set([...others, ...ownersOf(apart)]);
    }
  }

  async #runAlone(calls: readonly Waiting[]): Promise<void> {
    for (const call of calls) {
      try {
        settle(call, await this.#options.alone(call.until, call));
      } catch (error) {
        call.reject(error);
      }
    }
    for (const owner of ownersOf(calls)) this.#owners.delete(owner);
    this.#schedule();
  }
}

const ownersOf = (calls: readonly Waiting[]): Set<string> =>
  new Set(calls.map(({ owner }) => owner).filter((owner) => owner !== ''));

function settle({ resolve, reject }: Waiting, result: PipelinedResult | undefined): void {
  if (!result) reject(new Error('PostgreSQL did not answer a statement'));
  else if ('error' in result) reject(result.error);
  else resolve(result.row as never);
}
