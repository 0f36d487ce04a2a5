/**
 * The database port on PostgreSQL: a pool of connections, a transaction for each write, at READ COMMITTED. Reads of one
 * row and writes of one statement travel in groups (postgres-batcher.ts).
 *
 * - Every call is answered within `withinMs`, counted from its own start: what is not done by then has its connection
 *   destroyed, whatever state the server is in, and the pool makes a new one when it is next needed.
 * - A row that somebody keeps locked holds up only what needs that row. Nothing waits long for a lock with a connection
 *   in hand: it gives up, lets others have the connection, and tries again until its time is up. Transactions and
 *   statements that run alone have half of the connections, so that groups always find one.
 * - A connection goes back to the pool only if it is known to be sound and outside a transaction.
 * - A write whose COMMIT was sent but not answered is reported as unavailable; it may have been recorded, whole.
 */
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { createWorkQueue } from '../work-queue.ts';
import { type Database, type Reader, StorageUnavailable, type Tx } from './database.ts';
import { StatementBatcher } from './postgres-batcher.ts';
import { mayBeRetried, toPortError } from './postgres-errors.ts';
import { type PipelinedCall, type PipelinedResult, PipelineFailure, PipelineSender } from './postgres-pipeline.ts';
import { execute, type NamedStatement, Statements, transaction } from './postgres-statements.ts';
import { columnTypes } from './postgres-types.ts';

export interface PostgresOptions {
  url: string;
  /** How many connections at most. More than a few for each of the server's processors gain nothing. */
  connections?: number;
  /**
   * How long a call may take, waiting for a connection included: the contract's five seconds, less the rest of a
   * request. Migrations need more, and so a connection of their own.
   */
  withinMs?: number;
}

const maxConnectMs = 3_600;

/** Groups of a kind that may be under way at once; a few connections are left for transactions and long reads. */
const groupsAtOnce = 4;

/** How long a group of writes waits for a locked row: what others of the group are delayed by it. */
const groupLockMs = 25;
/** How long a transaction, or a statement alone, waits for a lock before it lets others have its connection. */
const patientLockMs = 500;

export function openPostgres({ url, connections = 10, withinMs = 4_500 }: PostgresOptions): Database {
  const pool = new pg.Pool({
    connectionString: url,
    application_name: 'namjai',
    max: connections,
    // Waiting for one of the pool counts too, so under load this is no sign of a server that is gone.
    connectionTimeoutMillis: Math.min(withinMs * 0.8, maxConnectMs),
    // The server's own limits, for when this process cannot keep them: a node that sleeps inside a transaction
    // must not keep its rows from the others.
    statement_timeout: withinMs,
    idle_in_transaction_session_timeout: withinMs / 2,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    types: columnTypes,
  });
  const statements = new Statements();
  let calls = 0;
  let lastCallDone = (): void => {};
  let closed: Promise<void> | undefined;

  // A connection that breaks tells whoever uses it by failing the query; without listeners it would end the process.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));

  async function call<T>(run: (until: number) => Promise<T>): Promise<T> {
    if (closed) throw new Error('The database is closed');
    calls += 1;
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(notInTime()), withinMs);
    try {
      return await Promise.race([run(performance.now() + withinMs), late.promise]);
    } finally {
      clearTimeout(timer);
      calls -= 1;
      if (calls === 0) lastCallDone();
    }
  }

  /** Lends a connection, and takes it away when the time is up. */
  async function withClient<T>(until: number, use: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const late = Promise.withResolvers<never>();
    late.promise.catch(() => {});
    const timer = setTimeout(() => late.reject(notInTime()), Math.max(1, until - performance.now()));
    const connecting = pool.connect();
    let client: pg.PoolClient | undefined;
    let broken = false;
    try {
      client = await Promise.race([connecting, late.promise]);
      return await Promise.race([use(client), late.promise]);
    } catch (error) {
      const reason = client ? error : toPortError(error);
      broken = reason instanceof StorageUnavailable;
      throw reason;
    } finally {
      clearTimeout(timer);
      if (client) client.release(broken);
      else
        connecting.then(
          (unwanted) => unwanted.release(),
          () => {},
        );
    }
  }

  /** Again while others get in the way: a deadlock or a serialization failure has undone everything. */
  async function retrying<T>(until: number, attempt: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await attempt();
      } catch (error) {
        if (!mayBeRetried(error)) throw error;
        const pause = Math.random() * 10 * tries;
        if (performance.now() + pause > until)
          throw new StorageUnavailable('Others were always first', { cause: error });
        await delay(pause);
      }
    }
  }

  const all: Reader['all'] = (sql, params) =>
    call(async (until) => {
      const statement = statements.find(sql);
      refuseWrites(statement);
      return (await withClient(until, (client) => execute(client, statement, params))).rows;
    });

  const patient = createWorkQueue({ atOnce: Math.max(1, connections >> 1), maxWaiting: Infinity });

  const transact = <T>(until: number, run: (tx: Tx) => Promise<T>): Promise<T> =>
    retrying(until, () =>
      patient.goOn(() => withClient(until, (client) => transaction(client, statements, run, patientLockMs))),
    );

  const pipelines = new PipelineSender();
  /** Waits for no lock to the very end: a server that got it after the caller was refused would still commit. */
  const send = (until: number, calls: readonly PipelinedCall[], lockMs?: number): Promise<PipelinedResult[]> =>
    withClient(until, (client) => {
      const leftMs = Math.max(1, Math.floor((until - performance.now()) / 2));
      return pipelines.send(client, calls, lockMs && Math.min(lockMs, leftMs));
    });
  const alone = (until: number, statement: PipelinedCall): Promise<PipelinedResult | undefined> =>
    retrying(until, () =>
      patient.goOn(async () => {
        try {
          return (await send(until, [statement], patientLockMs))[0];
        } catch (error) {
          throw error instanceof PipelineFailure ? error.cause : error;
        }
      }),
    );
  const reads = new StatementBatcher({ atOnce: groupsAtOnce, together: send, alone });
  const writes = new StatementBatcher({
    atOnce: groupsAtOnce,
    together: (until, group) => send(until, group, groupLockMs),
    alone,
  });

  const write: Database['write'] = ({ run, postgres }, ...args) =>
    call(async (until) => {
      if (postgres) {
        const { owner, sql, params } = postgres.statement(...args);
        const row = await writes.add<never>({ until, statement: statements.find(sql), params, owner });
        if (row !== undefined) return postgres.answer(row, ...args);
      }
      return transact(until, (tx) => run(tx, ...args));
    });

  async function close(): Promise<void> {
    if (calls > 0) {
      await new Promise<void>((resolve) => {
        lastCallDone = resolve;
      });
    }
    await pool.end();
  }

  return {
    engine: 'postgres',
    all,
    get: (sql, params) =>
      call(async (until) => {
        const statement = statements.find(sql);
        refuseWrites(statement);
        return reads.add({ until, statement, params, owner: '' });
      }),
    write,
    version: () => undefined,
    async ping() {
      // The record of the first migration is there once the database can serve; nothing about it changes.
      const touch = 'UPDATE schema_migrations SET name = name WHERE number = 1';
      const changed = await call((until) => transact(until, (tx) => tx.run(touch)));
      if (changed !== 1) throw new Error('The database has no schema');
    },
    close() {
      closed ??= close();
      return closed;
    },
  };
}

const notInTime = (): StorageUnavailable => new StorageUnavailable('The database did not answer in time');

function refuseWrites({ writes, text }: NamedStatement): void {
  if (writes) throw new Error(`A statement that writes, outside write(): ${text}`);
}
