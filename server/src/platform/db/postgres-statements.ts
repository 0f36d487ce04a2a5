import { createHash } from 'node:crypto';
import type pg from 'pg';
import { type Sql, StorageUnavailable, type Tx, type Value } from './database.ts';
import { toPortError } from './postgres-errors.ts';
import { checkParameters, noParameters, readStatement, type StatementText, textFor } from './statement.ts';

export interface NamedStatement extends StatementText {
  /** Equal on every node, so that nodes can share connections through a pooler. */
  readonly name: string;
  /** The name in pipelines (postgres-pipeline.ts): the driver may have prepared the statement under `name`. */
  readonly pipelineName: string;
}

export function nameStatement(text: string): NamedStatement {
  const name = createHash('sha256').update(text).digest('base64url');
  return { ...readStatement(text), name, pipelineName: `${name}+` };
}

/** Statements by text. A connection prepares a statement on its first use. */
export class Statements {
  readonly #known = new Map<string, NamedStatement>();

  find(sql: Sql): NamedStatement {
    const text = textFor('postgres', sql);
    let statement = this.#known.get(text);
    if (!statement) {
      statement = nameStatement(text);
      this.#known.set(text, statement);
    }
    return statement;
  }
}

export async function execute(
  client: pg.ClientBase,
  statement: NamedStatement,
  params: readonly Value[] = noParameters,
): Promise<pg.QueryResult> {
  checkParameters(statement, params);
  try {
    return await client.query({ name: statement.name, text: statement.text, values: [...params] });
  } catch (error) {
    throw toPortError(error);
  }
}

/** Runs the function inside a transaction of this connection. No statement waits longer than `lockMs` for a lock; 0: no limit. */
export async function transaction<T>(
  client: pg.ClientBase,
  statements: Statements,
  run: (tx: Tx) => Promise<T>,
  lockMs = 0,
): Promise<T> {
  await begin(client, lockMs);
  const tx = new PostgresTx(client, statements);
  let value: T;
  try {
    value = await run(tx);
    await tx.finish();
  } catch (error) {
    const reason = await tx.abandon(error);
    if (!(reason instanceof StorageUnavailable)) await command(client, 'ROLLBACK');
    throw reason;
  }
  await command(client, 'COMMIT');
  return value;
}

async function begin(client: pg.ClientBase, lockMs: number): Promise<void> {
  try {
    await client.query(`BEGIN; SET LOCAL lock_timeout = ${lockMs}`);
  } catch (error) {
    throw toPortError(error);
  }
}

async function command(client: pg.ClientBase, text: 'COMMIT' | 'ROLLBACK'): Promise<void> {
  try {
    const { command: done } = await client.query(text);
    // PostgreSQL answers the COMMIT of a failed transaction with ROLLBACK.
    if (done !== text) throw new Error(`PostgreSQL answered ${text} with ${done}`);
  } catch (error) {
    throw toPortError(error);
  }
}

/** Runs statements one after another, until one fails or the function returns. */
class PostgresTx implements Tx {
  failure: { readonly error: unknown } | undefined;
  readonly #client: pg.ClientBase;
  readonly #statements: Statements;
  #over = false;
  #last: Promise<unknown> = Promise.resolve();

  constructor(client: pg.ClientBase, statements: Statements) {
    this.#client = client;
    this.#statements = statements;
  }

  async all<Row>(sql: Sql, params?: readonly Value[]): Promise<Row[]> {
    return (await this.#execute(sql, params)).rows;
  }

  async get<Row>(sql: Sql, params?: readonly Value[]): Promise<Row | undefined> {
    return (await this.#execute(sql, params)).rows[0];
  }

  async run(sql: Sql, params?: readonly Value[]): Promise<number> {
    const { rowCount } = await this.#execute(sql, params);
    // For a statement that reads, `rowCount` is the number of returned rows.
    return this.#statements.find(sql).writes ? (rowCount ?? 0) : 0;
  }

  /** Refuses further statements, waits for those that the function did not await, and throws the first failure. */
  async finish(): Promise<void> {
    this.#over = true;
    await this.#last;
    if (this.failure) throw this.failure.error;
  }

  /**
   * Refuses further statements and those that wait, and waits for the one that was sent: after the ROLLBACK each would
   * commit by itself. Returns the first failure.
   */
  async abandon(error: unknown): Promise<unknown> {
    this.#over = true;
    this.failure ??= { error };
    await this.#last;
    return this.failure.error;
  }

  #execute(sql: Sql, params?: readonly Value[]): Promise<pg.QueryResult> {
    if (this.#over) return Promise.reject(new Error('A statement was given to a transaction that is over'));
    const result = this.#last.then(() => {
      if (this.failure) throw this.failure.error;
      return execute(this.#client, this.#statements.find(sql), params);
    });
    this.#last = result.catch((error: unknown) => {
      this.failure ??= { error };
    });
    return result;
  }
}
