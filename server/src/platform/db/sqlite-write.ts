import type { Sql, Tx, Value } from './database.ts';
import type { SqliteConnection } from './sqlite-connection.ts';

type Outcome<T> = { readonly value: T } | { readonly error: unknown };

/** What the batch needs to know of a write, whatever its result. */
export interface QueuedWrite {
  readonly since: number;
  /** Runs the function inside the open savepoint; resolves with its failure, or with nothing. */
  attempt(connection: SqliteConnection): Promise<{ readonly error: unknown } | undefined>;
  /** Ends an attempt that is still under way. */
  abandon(error: Error): void;
  fail(error: unknown): void;
  answer(): void;
}

/** One call of `write`: its function, what became of it, and who waits for the answer. */
export class PendingWrite<T> implements QueuedWrite {
  readonly since: number;
  readonly #fn: (tx: Tx) => Promise<T>;
  readonly #resolve: (value: T) => void;
  readonly #reject: (error: unknown) => void;
  #outcome: Outcome<T> | undefined;
  #abandon: (error: Error) => void = () => {};

  constructor(
    fn: (tx: Tx) => Promise<T>,
    resolve: (value: T) => void,
    reject: (error: unknown) => void,
    since: number,
  ) {
    this.since = since;
    this.#fn = fn;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  attempt(connection: SqliteConnection): Promise<{ readonly error: unknown } | undefined> {
    const tx = new SavepointTx(connection);
    return new Promise((done) => {
      const end = (outcome: Outcome<T>): void => {
        if (tx.over) return;
        tx.over = true;
        this.#outcome = tx.failure ?? outcome;
        done('error' in this.#outcome ? this.#outcome : undefined);
      };
      this.#abandon = (error) => end({ error });
      try {
        this.#fn(tx).then(
          (value) => end({ value }),
          (error: unknown) => end({ error }),
        );
      } catch (error) {
        end({ error });
      }
    });
  }

  abandon(error: Error): void {
    this.#abandon(error);
  }

  fail(error: unknown): void {
    this.#outcome = { error };
  }

  answer(): void {
    if (!this.#outcome) throw new Error('A write is answered before it has run');
    if ('error' in this.#outcome) this.#reject(this.#outcome.error);
    else this.#resolve(this.#outcome.value);
  }
}

/** Statements run at once, on the connection whose savepoint is open; the promises are settled already. */
class SavepointTx implements Tx {
  over = false;
  failure: { readonly error: unknown } | undefined;
  readonly #connection: SqliteConnection;

  constructor(connection: SqliteConnection) {
    this.#connection = connection;
  }

  all<Row>(sql: Sql, params?: readonly Value[]): Promise<Row[]> {
    try {
      this.#check();
      return Promise.resolve(this.#connection.all<Row>(sql, params));
    } catch (error) {
      return this.#failed(error);
    }
  }

  get<Row>(sql: Sql, params?: readonly Value[]): Promise<Row | undefined> {
    try {
      this.#check();
      return Promise.resolve(this.#connection.get<Row>(sql, params));
    } catch (error) {
      return this.#failed(error);
    }
  }

  run(sql: Sql, params?: readonly Value[]): Promise<number> {
    try {
      this.#check();
      return Promise.resolve(this.#connection.run(sql, params));
    } catch (error) {
      return this.#failed(error);
    }
  }

  #check(): void {
    if (this.over) throw new Error('A statement was given to a transaction that is over');
    if (this.failure) throw this.failure.error;
  }

  #failed(error: unknown): Promise<never> {
    this.failure ??= { error };
    return Promise.reject(error);
  }
}
