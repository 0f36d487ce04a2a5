/**
 * Calls of one statement that arrive together travel together (postgres-group.ts). The busier it is, the more share a
 * round trip and a commit; a call that finds nobody else goes at once.
 *
 * - Nobody is answered before the whole group is committed.
 * - A group that fails because of one of its statements has left nothing behind: each is run again by itself, so that
 *   only that one fails. A group whose connection fails may have been recorded, whole: all are refused.
 * - A group is sorted by owner. As each statement locks a row of its owner first, and nodes take owners in the same
 *   order, no two groups wait for each other.
 */
import { StorageUnavailable, type Value } from './database.ts';
import { type GroupedCall, type GroupedResult, maxGroup } from './postgres-group.ts';
import { checkParameters, noParameters } from './statement.ts';

interface Call extends GroupedCall {
  /** When it must be answered, on the clock of `performance.now()`. */
  readonly until: number;
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

export class Lane {
  readonly #options: LaneOptions;
  #queue: Waiting[] = [];
  #underWay = 0;
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
    if (this.#due || this.#queue.length === 0 || this.#underWay >= this.#options.atOnce) return;
    this.#due = true;
    setImmediate(() => {
      this.#due = false;
      void this.#send(this.#queue.splice(0, maxGroup));
      this.#goOn();
    });
  }

  async #send(group: Waiting[]): Promise<void> {
    this.#underWay += 1;
    // The first has waited longest.
    const until = group[0]!.until;
    // Within an owner the order of arrival stays: the sort is stable.
    group.sort((a, b) => (a.owner < b.owner ? -1 : a.owner > b.owner ? 1 : 0));
    try {
      const results = await this.#options.together(until, group);
      for (const [i, call] of group.entries()) settle(call, results[i]!);
    } catch (error) {
      if (error instanceof StorageUnavailable) for (const { reject } of group) reject(error);
      else for (const call of group) await this.#alone(call);
    }
    this.#underWay -= 1;
    this.#goOn();
  }

  async #alone(call: Waiting): Promise<void> {
    try {
      const [result] = await this.#options.alone(call.until, [call]);
      settle(call, result!);
    } catch (error) {
      call.reject(error);
    }
  }
}

function settle({ resolve, reject }: Waiting, result: GroupedResult): void {
  if ('error' in result) reject(result.error);
  else resolve(result.row as never);
}
