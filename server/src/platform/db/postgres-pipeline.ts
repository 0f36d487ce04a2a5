/**
 * Sends several statements in one round trip, one transaction and one flush.
 *
 * - In the extended protocol a client may send statements without waiting for results. Up to the Sync they are one
 *   transaction (https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING). It commits at the
 *   Sync, so no result is valid before ReadyForQuery.
 * - A failed statement rolls all of them back.
 * - A pipeline is short enough for one packet: a node that is suspended in the middle of it would hold its locks.
 */
import type pg from 'pg';
import type { Value } from './database.ts';
import { toPortError } from './postgres-errors.ts';
import type { NamedStatement } from './postgres-statements.ts';
import { columnTypes } from './postgres-types.ts';
import { Messages } from './postgres-wire.ts';

export const maxPipeline = 32;

export interface PipelinedCall {
  readonly statement: NamedStatement;
  readonly params: readonly Value[];
}

/** The first row of a call, if any; or an error if a value of that row cannot be parsed. */
export type PipelinedResult = { readonly row: object | undefined } | { readonly error: unknown };

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

  send(client: pg.ClientBase, calls: readonly PipelinedCall[]): Promise<PipelinedResult[]> {
    const settle = Promise.withResolvers<PipelinedResult[]>();
    client.query(new Pipeline(calls, this.#prepared, this.#messages, settle));
    return settle.promise;
  }
}

/** The driver calls the `handle…` methods with the messages of the server. */
class Pipeline implements pg.Submittable {
  readonly #calls: readonly PipelinedCall[];
  readonly #all: WeakMap<pg.Connection, Prepared>;
  readonly #messages: Messages;
  readonly #settle: PromiseWithResolvers<PipelinedResult[]>;
  readonly #results: PipelinedResult[] = [];
  #prepared: Prepared = { columns: new Map(), mayHoldOthers: false };
  #current: PipelinedResult = { row: undefined };

  constructor(
    calls: readonly PipelinedCall[],
    prepared: WeakMap<pg.Connection, Prepared>,
    messages: Messages,
    settle: PromiseWithResolvers<PipelinedResult[]>,
  ) {
    this.#calls = calls;
    this.#all = prepared;
    this.#messages = messages;
    this.#settle = settle;
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
    this.#settle.reject(toPortError(error));
  }

  handleReadyForQuery(): void {
    this.#settle.resolve(this.#results);
  }
}
