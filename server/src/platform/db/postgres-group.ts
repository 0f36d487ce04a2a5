/**
 * Statements that are sent together: one round trip, one transaction and one flush for all of them.
 *
 * - The extended protocol lets statements follow one another without waiting; until the Sync they are one transaction
 *   (https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING). It commits at the Sync, so
 *   nothing counts before the server is ready for the next.
 * - One that fails undoes them all.
 * - A group is small, so that it leaves in one piece: a node that falls asleep halfway would keep its locks.
 */
import type pg from 'pg';
import type { Value } from './database.ts';
import { sorted } from './postgres-errors.ts';
import type { NamedStatement } from './postgres-statements.ts';
import { columnTypes } from './postgres-types.ts';

export const maxGroup = 32;

export interface GroupedCall {
  readonly statement: NamedStatement;
  readonly params: readonly Value[];
}

/** What came of one call: its first row, if any; or an error, if that row cannot be given back. */
export type GroupedResult = { readonly row: object | undefined } | { readonly error: unknown };

interface Column {
  readonly name: string;
  readonly parse: (text: string) => unknown;
}

/** What a connection has prepared. */
interface Prepared {
  /** By name, the columns that each gives: while it stays prepared they stay. */
  readonly columns: Map<string, readonly Column[]>;
  /** After a failure there may be more than that. */
  mayHoldOthers: boolean;
}

export class GroupSender {
  readonly #prepared = new WeakMap<pg.Connection, Prepared>();

  send(client: pg.PoolClient, calls: readonly GroupedCall[]): Promise<GroupedResult[]> {
    return new Promise((resolve, reject) => {
      client.query(new Group(calls, this.#prepared, resolve, reject));
    });
  }
}

/** Not the name under which the driver may have prepared it. */
const nameOf = ({ name }: NamedStatement): string => `${name}+`;

/** The driver hands the server's answers to the methods below. */
class Group implements pg.Submittable {
  readonly #calls: readonly GroupedCall[];
  readonly #all: WeakMap<pg.Connection, Prepared>;
  readonly #resolve: (results: GroupedResult[]) => void;
  readonly #reject: (error: unknown) => void;
  readonly #results: GroupedResult[] = [];
  #prepared: Prepared = { columns: new Map(), mayHoldOthers: false };
  #current: GroupedResult = { row: undefined };

  constructor(
    calls: readonly GroupedCall[],
    prepared: WeakMap<pg.Connection, Prepared>,
    resolve: (results: GroupedResult[]) => void,
    reject: (error: unknown) => void,
  ) {
    this.#calls = calls;
    this.#all = prepared;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  submit(connection: pg.Connection): null {
    this.#prepared = this.#all.get(connection) ?? this.#prepared;
    this.#all.set(connection, this.#prepared);
    connection.stream.cork();
    for (const { statement, params } of this.#calls) {
      const name = nameOf(statement);
      const { columns, mayHoldOthers } = this.#prepared;
      const isNew = !columns.has(name);
      if (isNew) {
        // To close what is not there is no error.
        if (mayHoldOthers) connection.close({ type: 'S', name }, true);
        connection.parse({ name, text: statement.text, types: [] }, true);
        columns.set(name, []);
      }
      connection.bind({ statement: name, values: params.map(toText) }, true);
      if (isNew) connection.describe({ type: 'P' }, true);
      connection.execute(null, true);
    }
    connection.sync();
    connection.stream.uncork();
    return null;
  }

  #currentName(): string {
    return nameOf(this.#calls[this.#results.length]!.statement);
  }

  handleRowDescription({ fields }: { fields: readonly { name: string; dataTypeID: number }[] }): void {
    this.#prepared.columns.set(
      this.#currentName(),
      fields.map(({ name, dataTypeID }) => ({ name, parse: columnTypes.getTypeParser(dataTypeID, 'text') })),
    );
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    if ('error' in this.#current || this.#current.row) return;
    try {
      const row: Record<string, unknown> = {};
      for (const [i, { name, parse }] of this.#prepared.columns.get(this.#currentName())!.entries()) {
        const text = fields[i] ?? null;
        row[name] = text === null ? null : parse(text);
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
   * The server's error, or that of a connection that broke. How far it got in preparing is not known, and what it had
   * prepared before may be what failed: a table can have got other columns since.
   */
  handleError(error: unknown, connection: pg.Connection): void {
    this.#all.set(connection, { columns: new Map(), mayHoldOthers: true });
    this.#reject(sorted(error));
  }

  handleReadyForQuery(): void {
    this.#resolve(this.#results);
  }
}

/** Values are checked before they come here: strings, safe integers, bytes and null. */
function toText(value: Value): string | Buffer | null {
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}
