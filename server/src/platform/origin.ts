/**
 * Who makes a change, and from where. Every write that the audit log tells of takes an `Origin` first, so the compiler
 * names each call that lacks it: `db.write(repo.writes.renamePasskey, origins.current(), creatorId, id, name)`.
 *
 * `run` sets the actor of a request or a command, for the given function and for all that it starts. `current()` is the
 * origin with that actor, so services need no argument for it. A change that the clock makes has the origin `clock()`.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { userInfo } from 'node:os';
import type { Clock } from './clock.ts';
import type { NewId } from './ids.ts';

export interface Actor {
  /** The id of a creator or an app, `operator`, `clock`, or `null`: a visitor who is about to prove who they are. */
  readonly actor: string | null;
  readonly address: string | null;
  readonly requestId: string | null;
  /** The user of the machine who ran a command. */
  readonly osUser: string | null;
}

/** An actor at a time, with the id of the row that tells of it. */
export interface Origin extends Actor {
  readonly id: string;
  readonly at: number;
}

export type Origins = ReturnType<typeof createOrigins>;

const theClock: Actor = { actor: 'clock', address: null, requestId: null, osUser: null };

export function createOrigins(clock: Clock, newId: NewId) {
  const actors = new AsyncLocalStorage<() => Actor>();
  const originOf = (actor: Actor): Origin => ({ ...actor, id: newId('aud'), at: clock() });
  return {
    current: (): Origin => originOf(actors.getStore()?.() ?? theClock),
    clock: (): Origin => originOf(theClock),
    /** The actor is asked for when a change is made: by then a request has been authenticated. */
    run: <T>(actor: () => Actor, act: () => T): T => actors.run(actor, act),
  };
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The operator, at the command line. */
export const operatorActor = (env: Environment): Actor => ({
  actor: 'operator',
  address: null,
  requestId: null,
  osUser: osUserName(env),
});

/** With sudo, who typed the command, and not the user of the server. A container may run as a user id without a name. */
function osUserName({ SUDO_USER }: Environment): string {
  if (SUDO_USER) return SUDO_USER;
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? '');
  }
}
