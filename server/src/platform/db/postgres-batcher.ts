/**
 * Sends single statements that arrive together as one group (postgres-pipeline.ts). The busier the node, the more
 * statements share a round trip and a commit. A single statement is sent at once.
 *
 * - No caller gets a result before the whole group is committed.
 * - A group waits for the previous one, unless it is full or the previous one is slow: then both run concurrently.
 * - A call whose time is up before it was sent is not sent. A group has as long as its youngest call; postgres.ts answers
 *   each call in its own time.
 * - Statements of one owner are never in two concurrent groups, because one would wait for the other's lock.
 * - If a statement fails, or a row of its owner is locked, its group is rolled back. The statements of that owner run
 *   alone and in order, concurrently with everything else; the rest runs again together. If the connection fails, the
 *   group may have been committed: all of its statements fail.
 * - A group is sorted by owner. Each statement locks a row of its owner first, and all nodes sort alike, so groups do not
 *   deadlock.
 */
import { setImmediate as nextIteration } from 'node:timers/promises';
import type { Value } from './database.ts';
import { maxPipeline, type PipelinedCall, type PipelinedResult, PipelineFailure } from './postgres-pipeline.ts';
import { checkParameters, noParameters } from './statement.ts';

interface Call extends PipelinedCall {
  /** The deadline, on the clock of `performance.now()`. */
  readonly until: number;
  /** The owner of the rows that the statement writes; empty for a read. */
  readonly owner: string;
}

interface Waiting extends Call {
  readonly resolve: (row: never) => void;
  readonly reject: (error: unknown) => void;
}

export interface BatcherOptions {
  readonly maxGroups: number;
  /** Rejects with `PipelineFailure` if one of the statements is why. */
  readonly together: (until: number, calls: readonly PipelinedCall[]) => Promise<PipelinedResult[]>;
  /** Retries after a deadlock or a serialization failure, or while a row is locked. */
  readonly alone: (
    until: number,
    call: PipelinedCall & { readonly owner: string },
  ) => Promise<PipelinedResult | undefined>;
  /** Whether it is too late to send a call with this deadline: its caller might be refused before the answer comes. */
  readonly isTooLate?: (until: number) => boolean;
}

/** A group that takes longer is slow: further groups are sent without waiting for it. */
const slowMs = 5;

export class StatementBatcher {
  readonly #options: BatcherOptions;
  #queue: Waiting[] = [];
  /** The owners of the groups in flight. */
  readonly #owners = new Set<string>();
  #inFlight = 0;
  /** How many groups in flight hold further ones back: those that are not slow. */
  #holdingBack = 0;
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

  /** How many calls are not sent yet. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** After the current tasks, so that statements that arrive together share a group. */
  #schedule(): void {
    if (this.#scheduled || !this.#maySend(this.#queue)) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      const { isTooLate = (until) => until <= performance.now() } = this.#options;
      const [oldest] = this.#queue;
      if (oldest && isTooLate(oldest.until)) this.#queue = this.#queue.filter(({ until }) => !isTooLate(until));
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
    return length > 0 && this.#inFlight < this.#options.maxGroups && (this.#holdingBack === 0 || length >= maxPipeline);
  }

  async #send(group: Waiting[]): Promise<void> {
    const owners = ownersOf(group);
    for (const owner of owners) this.#owners.add(owner);
    this.#inFlight += 1;
    this.#holdingBack += 1;
    let holdsBack = true;
    const stopHoldingBack = (): void => {
      if (holdsBack) this.#holdingBack -= 1;
      holdsBack = false;
      this.#schedule();
    };
    const timer = setTimeout(stopHoldingBack, slowMs);
    // The sort is stable: within an owner the order of arrival stays.
    const apart = await this.#run(group.sort((a, b) => (a.owner < b.owner ? -1 : a.owner > b.owner ? 1 : 0)));
    clearTimeout(timer);
    for (const owner of owners) if (!apart.has(owner)) this.#owners.delete(owner);
    this.#inFlight -= 1;
    stopHoldingBack();
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
        // Else calls that time out together would all be rejected in one iteration, which delays everybody.
        await nextIteration();
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
