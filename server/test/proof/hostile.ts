import { Worker } from 'node:worker_threads';
import type { HostileWorld } from './world.ts';

export interface HostileOptions {
  readonly urls: readonly string[];
  readonly world: HostileWorld;
  /** Of the deployment with PostgreSQL. */
  readonly databaseUrl: string | null;
  readonly turnMs: number;
  /** Between two turns. */
  readonly pauseMs: number;
  readonly seed: number;
}

/** A turn has begun, or it has ended with these outcomes. */
export type HostileMessage =
  | { readonly attack: string }
  | {
      readonly attack: null;
      readonly name: string;
      readonly outcomes: Record<string, number>;
      readonly expectedErrors: readonly string[];
    };

export interface Outcomes {
  turns: number;
  /** How often each status, close code or end of a connection was seen. */
  readonly seen: Record<string, number>;
}

export interface Hostile {
  /** By attack. */
  readonly outcomes: ReadonlyMap<string, Outcomes>;
  readonly expectedErrors: ReadonlySet<string>;
  /** By itself, by a fault of its own. */
  ended(): boolean;
  stop(): Promise<void>;
}

/** Lets every attack have its turn until it is stopped. `onTurn` gets the name of the one that runs, or null. */
export function startHostile(options: HostileOptions, onTurn: (attack: string | null) => void): Hostile {
  const worker = new Worker(new URL('./hostile-worker.ts', import.meta.url), { workerData: options });
  const outcomes = new Map<string, Outcomes>();
  const expectedErrors = new Set<string>();
  let failure: unknown;
  worker.on('error', (error) => {
    failure = error;
  });
  const ended = new Promise((resolve) => worker.once('exit', resolve));
  worker.on('message', (message: HostileMessage) => {
    onTurn(message.attack);
    if (message.attack !== null) return;
    const known = outcomes.get(message.name) ?? { turns: 0, seen: {} };
    known.turns += 1;
    for (const [outcome, count] of Object.entries(message.outcomes))
      known.seen[outcome] = (known.seen[outcome] ?? 0) + count;
    outcomes.set(message.name, known);
    for (const id of message.expectedErrors) expectedErrors.add(id);
  });
  return {
    outcomes,
    expectedErrors,
    ended: () => failure !== undefined,
    async stop() {
      worker.postMessage('stop');
      await ended;
      if (failure) throw new Error('the attackers failed', { cause: failure });
    },
  };
}
