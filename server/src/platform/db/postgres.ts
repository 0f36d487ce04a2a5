/**
 * The database port on PostgreSQL: a pool of connections, a transaction for each write, at READ COMMITTED. Reads of one
 * row and writes of one statement are sent in groups (postgres-batcher.ts).
 *
 * - Every call settles within `withinMs` of its own start. After that its connection is destroyed, and the pool opens a
 *   new one on demand.
 * - A locked row holds up only what needs that row. Nothing waits long for a lock while it holds a connection: it gives
 *   up, returns the connection, and tries again until its time is up.
 * - Transactions, statements that run alone and reads of many rows have half of the connections, in turn, so that groups
 *   always have the other half: however many lists somebody asks for, tips and reads of one row go on. Owners take turns
 *   there, and the writes of one, which may all wait for the same row, have half of those connections at most; so have
 *   the reads.
 * - A connection returns to the pool only if it works and is outside of a transaction.
 * - A write whose COMMIT was sent but not answered fails as unavailable, although it may have been recorded as a whole.
 */
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { createPacer } from '../pacer.ts';
import { createWorkQueue } from '../work-queue.ts';
import { CommitStats } from './commit-stats.ts';
import { completeAnswer, type Database, type Reader, StorageUnavailable, type Tx } from './database.ts';
import { ownerOf } from './owner.ts';
import { type BatcherOptions, StatementBatcher } from './postgres-batcher.ts';
import { mayBeRetried, toPortError } from './postgres-errors.ts';
import { type PipelinedCall, type PipelinedResult, PipelineFailure, PipelineSender } from './postgres-pipeline.ts';
import { execute, type NamedStatement, Statements, transaction } from './postgres-statements.ts';
import { columnTypes } from './postgres-types.ts';
import { vacuum } from './postgres-vacuum.ts';

export interface PostgresOptions {
  url: string;
  /** The most connections. More than a few for each CPU of the server gain nothing. */
  connections?: number;
  /**
   * The timeout of a call, including the wait for a connection: the contract's five seconds, less the rest of a request.
   * Migrations need longer and use a separate pool.
   */
  withinMs?: number | undefined;
  /** The timeout of the wait for a connection. */
  connectWithinMs?: number;
}

/**
 * The most concurrent groups of reads, and of writes. With the half that ungrouped work may take this is more than the
 * pool has: then some of them wait for a connection.
 */
const maxGroups = 4;

/** How long a group of writes waits for a locked row. All other writes of the group wait as long. */
const groupLockMs = 25;
/** How long a transaction, or a statement alone, waits for a lock before it lets others have its connection. */
const ungroupedLockMs = 500;

export function openPostgres({
  url,
  connections = 10,
  withinMs = 4_500,
  connectWithinMs = withinMs * 0.8,
}: PostgresOptions): Database {
  const pool = new pg.Pool({
    connectionString: url,
    application_name: 'namjai',
    max: connections,
    // Includes the wait for a free connection, so under load a timeout does not mean that the server is away.
    connectionTimeoutMillis: connectWithinMs,
    // Timeouts of the server, in case this process is suspended inside a transaction: it must not hold its locks.
    statement_timeout: withinMs,
    idle_in_transaction_session_timeout: withinMs / 2,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    types: columnTypes,
  });
  const statements = new Statements();
  const commits = new CommitStats();
  let calls = 0;
  let lastCallDone = (): void => {};
  let closed: Promise<void> | undefined;

  // A broken connection fails its query. Without listeners it would also end the process.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));

  // Calls that wait for the same locked row time out together, and to reject one takes 0.3 ms.
  const refusePaced = createPacer(2);

  async function call<T>(run: (until: number) => Promise<T>): Promise<T> {
    if (closed) throw new Error('The database is closed');
    calls += 1;
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => refusePaced(() => late.reject(notInTime())), withinMs);
    try {
      return await Promise.race([run(performance.now() + withinMs), late.promise]);
    } finally {
      clearTimeout(timer);
      calls -= 1;
      if (calls === 0) lastCallDone();
    }
  }

  /** Nothing begins in the last tenth of the time: what is under way when the caller is refused could still commit. */
  const isTooLate = (until: number): boolean => performance.now() > until - withinMs / 10;

  /** Runs the function with a connection of the pool, until the deadline. */
  async function withClient<T>(until: number, use: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    if (isTooLate(until)) throw notInTime();
    const late = Promise.withResolvers<never>();
    late.promise.catch(() => {});
    const timer = setTimeout(() => late.reject(notInTime()), until - performance.now());
    const connecting = pool.connect();
    let client: pg.PoolClient | undefined;
    let begun = false;
    let broken = false;
    try {
      client = await Promise.race([connecting, late.promise]);
      if (isTooLate(until)) throw notInTime();
      begun = true;
      return await Promise.race([use(client), late.promise]);
    } catch (error) {
      const reason = begun ? error : toPortError(error);
      broken = begun && reason instanceof StorageUnavailable;
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

  /**
   * Retries after a deadlock, a serialization failure, a lock that was not free or a cancelled statement, which have rolled
   * everything back.
   */
  async function retrying<T>(until: number, attempt: () => Promise<T>): Promise<T> {
    let cause: unknown;
    for (let tries = 0; ; tries += 1) {
      const pause = Math.random() * 10 * tries;
      if (isTooLate(until - pause)) throw new StorageUnavailable('Others were always first', { cause, reason: 'busy' });
      if (pause > 0) await delay(pause);
      try {
        return await attempt();
      } catch (error) {
        if (!mayBeRetried(error)) throw error;
        cause = error;
      }
    }
  }

  /** Counts a commit of so many writes, if it succeeds. */
  async function timed<T>(writes: number, commit: () => Promise<T>): Promise<T> {
    const started = performance.now();
    const done = await commit();
    commits.count(writes, (performance.now() - started) / 1000);
    return done;
  }

  const atOnce = Math.max(1, connections >> 1);
  const atOnceOfOwner = Math.max(1, atOnce >> 1);
  const ungrouped = createWorkQueue({
    atOnce,
    atOnceOf: (owner) => (owner === ownerless.reads || owner === ownerless.writes ? atOnce : atOnceOfOwner),
    maxWaiting: Infinity,
  });

  const all: Reader['all'] = (sql, params) =>
    call(async (until) => {
      const statement = statements.find(sql);
      refuseWrites(statement);
      const read = () => withClient(until, (client) => execute(client, statement, params));
      return (await retrying(until, () => ungrouped.runAdmitted(queueOf('reads', ownerOf(params ?? [])), read))).rows;
    });

  const transact = <T>(until: number, owner: string | undefined, run: (tx: Tx) => Promise<T>): Promise<T> =>
    retrying(until, () =>
      ungrouped.runAdmitted(queueOf('writes', owner), () =>
        timed(1, () => withClient(until, (client) => transaction(client, statements, run, ungroupedLockMs))),
      ),
    );

  const pipelines = new PipelineSender();
  /** Waits for no lock to the very end: a server that got it after the caller was refused would still commit. */
  const send = (until: number, calls: readonly PipelinedCall[], lockMs?: number): Promise<PipelinedResult[]> =>
    withClient(until, (client) => {
      const leftMs = Math.max(1, Math.floor((until - performance.now()) / 2));
      return pipelines.send(client, calls, lockMs && Math.min(lockMs, leftMs));
    });
  const sendAlone = async (until: number, statement: PipelinedCall): Promise<PipelinedResult | undefined> => {
    try {
      return (await send(until, [statement], ungroupedLockMs))[0];
    } catch (error) {
      throw error instanceof PipelineFailure ? error.cause : error;
    }
  };
  const alone =
    (kind: keyof typeof ownerless): BatcherOptions['alone'] =>
    (until, statement) =>
      retrying(until, () =>
        ungrouped.runAdmitted(queueOf(kind, statement.owner || undefined), () =>
          kind === 'writes' ? timed(1, () => sendAlone(until, statement)) : sendAlone(until, statement),
        ),
      );
  const reads = new StatementBatcher({ maxGroups, together: send, alone: alone('reads'), isTooLate });
  const writes = new StatementBatcher({
    maxGroups,
    together: (until, group) => timed(group.length, () => send(until, group, groupLockMs)),
    alone: alone('writes'),
    isTooLate,
  });

  const write: Database['write'] = async ({ run, postgres }, ...args) => {
    const answer = await call(async (until) => {
      let owner = ownerOf(args);
      if (postgres) {
        const { sql, params, ...statement } = postgres.statement(...args);
        const row = await writes.add<never>({ until, statement: statements.find(sql), params, owner: statement.owner });
        if (row !== undefined) return postgres.answer(row, ...args);
        owner ??= statement.owner;
      }
      return transact(until, owner, (tx) => run(tx, ...args));
    });
    return completeAnswer(run, answer, args);
  };

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
    vacuum: (tables) => vacuum(url, tables),
    async ping() {
      // This row exists in every migrated database. The update changes nothing.
      const touch = 'UPDATE schema_migrations SET name = name WHERE number = 1';
      const changed = await call((until) => transact(until, undefined, (tx) => tx.run(touch)));
      if (changed !== 1) throw new Error('The database has no schema');
    },
    stats() {
      const { seconds: commitSeconds, ...counts } = commits.read();
      const { totalCount: open, idleCount: idle, waitingCount } = pool;
      // Few calls ever wait in the pool itself: each kind of call has a queue before it.
      const waiting = waitingCount + ungrouped.waiting + reads.waiting + writes.waiting;
      return { ...counts, commitSeconds, pool: { open, idle, waiting } };
    },
    close() {
      closed ??= close();
      return closed;
    },
  };
}

/** Where calls wait that are of no owner. */
const ownerless = { reads: 'reads', writes: 'writes' };

/** An owner's reads do not wait for their writes. */
const queueOf = (kind: keyof typeof ownerless, owner: string | undefined): string =>
  owner === undefined ? ownerless[kind] : `${kind} of ${owner}`;

const notInTime = (): StorageUnavailable =>
  new StorageUnavailable('The database did not answer in time', { reason: 'timeout' });

function refuseWrites({ writes, text }: NamedStatement): void {
  if (writes) throw new Error(`A statement that writes, outside write(): ${text}`);
}
