/**
 * Sends several statements in one round trip, one transaction and one flush.
 *
 * - In the extended protocol a client may send statements without waiting for results. Up to the Sync they are one
 *   transaction (https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING). It commits at the
 *   Sync, so no result is valid before ReadyForQuery.
 * - A failed statement rolls all of them back, and the failure names it.
 * - A statement waits for a locked row no longer than it is allowed to.
 * - A pipeline is short enough for one packet: a node that is suspended in the middle of it would hold its locks.
 */
import type pg from 'pg';
import { StorageUnavailable, type Value } from './database.ts';
import { toPortError } from './postgres-errors.ts';
import { type NamedStatement, nameStatement } from './postgres-statements.ts';
import { columnTypes } from './postgres-types.ts';
import { Messages } from './postgres-wire.ts';

export const maxPipeline = 32;

export interface PipelinedCall {
  readonly statement: NamedStatement;
  readonly params: readonly Value[];
}

/** The first row of a call, if any; or an error if a value of that row cannot be parsed. */
export type PipelinedResult = { readonly row: object | undefined } | { readonly error: unknown };

/** One of the statements failed; `cause` is its error. */
export class PipelineFailure extends Error {
  override name = 'PipelineFailure';
  /** Which of the calls; none of them if the commit itself failed. */
  readonly index: number;
  constructor(index: number, cause: unknown) {
    super('A statement of the pipeline failed', { cause });
    this.index = index;
  }
}

/** Holds until the end of the transaction. Sent first in the pipeline, this statement costs no round trip. */
const limitLocks = nameStatement(`SELECT set_config('lock_timeout', $1, true)`);

interface Column {
  readonly name: string;
  readonly parse: (text: string) => unknown;
}

interface Prepared {
  /** The columns of each prepared statement. They do not change while it is prepared. */
  readonly columns: Map<NamedStatement, readonly Column[]>;
  /** After a failure the server may have prepared more statements. */
  mayHoldOthers: boolean;
}

export class PipelineSender {
  readonly #prepared = new WeakMap<pg.Connection, Prepared>();
  readonly #messages = new Messages();

  /** `lockMs`: how long a statement may wait for a lock; without it, as long as the connection is lent. */
  send(client: pg.ClientBase, calls: readonly PipelinedCall[], lockMs?: number): Promise<PipelinedResult[]> {
    const first = lockMs === undefined ? [] : [{ statement: limitLocks, params: [`${lockMs}ms`] }];
    return new Promise((resolve, reject) => {
      const pipeline = new Pipeline(
        [...first, ...calls],
        this.#prepared,
        this.#messages,
        (results) => resolve(results.slice(first.length)),
        (index, error) =>
          reject(error instanceof StorageUnavailable ? error : new PipelineFailure(index - first.length, error)),
      );
      client.query(pipeline);
    });
  }
}

/** The driver calls the `handle…` methods with the messages of the server. */
class Pipeline implements pg.Submittable {
  readonly #calls: readonly PipelinedCall[];
  readonly #all: WeakMap<pg.Connection, Prepared>;
  readonly #messages: Messages;
  readonly #resolve: (results: PipelinedResult[]) => void;
  readonly #reject: (index: number, error: unknown) => void;
  readonly #results: PipelinedResult[] = [];
  #prepared: Prepared = { columns: new Map(), mayHoldOthers: false };
  #current: PipelinedResult = { row: undefined };

  constructor(
    calls: readonly PipelinedCall[],
    prepared: WeakMap<pg.Connection, Prepared>,
    messages: Messages,
    resolve: (results: PipelinedResult[]) => void,
    reject: (index: number, error: unknown) => void,
  ) {
    this.#calls = calls;
    this.#all = prepared;
    this.#messages = messages;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  submit(connection: pg.Connection): null {
    this.#prepared = this.#all.get(connection) ?? this.#prepared;
    this.#all.set(connection, this.#prepared);
    const messages = this.#messages;
    const { columns, mayHoldOthers } = this.#prepared;
    for (const { statement, params } of this.#calls) {
      const { pipelineName: name } = statement;
      const isNew = !columns.has(statement);
      if (isNew) {
        // To close an unknown statement is no error.
        if (mayHoldOthers) messages.closeStatement(name);
        messages.parse(name, statement.text);
        columns.set(statement, []);
      }
      messages.bind(name, params);
      if (isNew) messages.describePortal();
      messages.execute();
    }
    messages.sync();
    const bytes = messages.take();
    if (connection.stream.writable) connection.stream.write(bytes);
    return null;
  }

  #currentStatement(): NamedStatement {
    const call = this.#calls[this.#results.length];
    if (!call) throw new Error('PostgreSQL answered more statements than were sent');
    return call.statement;
  }

  handleRowDescription({ fields }: { fields: readonly { name: string; dataTypeID: number }[] }): void {
    this.#prepared.columns.set(
      this.#currentStatement(),
      fields.map(({ name, dataTypeID }) => ({ name, parse: columnTypes.getTypeParser(dataTypeID, 'text') })),
    );
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    if ('error' in this.#current || this.#current.row) return;
    try {
      const row: Record<string, unknown> = {};
      const columns = this.#prepared.columns.get(this.#currentStatement()) ?? [];
      let i = 0;
      for (const { name, parse } of columns) {
        const text = fields[i] ?? null;
        row[name] = text === null ? null : parse(text);
        i += 1;
      }
      this.#current = { row };
    } catch (error) {
      this.#current = { error };
    }
  }

  handleCommandComplete(): void {
    this.#results.push(this.#current);
    this.#current = { row: undefined };
  }

  /**
   * An error of the server or of a broken connection. The state of its prepared statements is unknown, and one of them may
   * be the cause: a table may have got other columns since.
   */
  handleError(error: unknown, connection: pg.Connection): void {
    this.#all.set(connection, { columns: new Map(), mayHoldOthers: true });
    this.#reject(this.#results.length, toPortError(error));
  }

  handleReadyForQuery(): void {
    this.#resolve(this.#results);
  }
}
