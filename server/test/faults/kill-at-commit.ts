/**
 * Loaded by `--import` into the real program: kills it (-9) at a commit of a rotation of the sealing key. `KILL` says when
 * and at which of them: `before 1`, `sent 2` (PostgreSQL has the COMMIT, and this process no answer) or `after 3`.
 */
import { StatementSync } from 'node:sqlite';
import pg from 'pg';

const [when, step] = (process.env.KILL ?? '').split(' ');
const isOfRotation = (sql: string): boolean => /^(UPDATE|INSERT INTO) .*(sealed_|\bmeta\b)/s.test(sql);
const die = (): void => void process.kill(process.pid, 'SIGKILL');

let commits = 0;
const isLast = (): boolean => ++commits === Number(step);

let inRotation = false;
const { run } = StatementSync.prototype;
StatementSync.prototype.run = function (...args: never[]) {
  if (isOfRotation(this.sourceSQL)) inRotation = true;
  const last = this.sourceSQL === 'COMMIT' && inRotation && isLast();
  if (this.sourceSQL === 'COMMIT') inRotation = false;
  if (last && when === 'before') die();
  const result = Reflect.apply(run, this, args);
  if (last) die();
  return result;
};

const rotating = new WeakSet<object>();
const { query } = pg.Client.prototype;
pg.Client.prototype.query = function (this: pg.Client, ...args: never[]) {
  const first: unknown = args[0];
  const sql = typeof first === 'string' ? first : String(Object(first).text);
  if (isOfRotation(sql)) rotating.add(this);
  const last = sql === 'COMMIT' && rotating.delete(this) && isLast();
  if (last && when === 'before') die();
  const result = Reflect.apply(query, this, args);
  if (last && when === 'sent') setImmediate(die);
  if (last && when === 'after') void Promise.resolve(result).then(die);
  return result;
};
