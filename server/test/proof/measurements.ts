/** How long honest calls took and which went wrong, also by the attack that ran meanwhile. */
export interface Problem {
  readonly at: string;
  readonly kind: string;
  readonly during: string;
  readonly what: string;
}

export interface Times {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

const maxProblems = 100;

export type Measurements = ReturnType<typeof createMeasurements>;

export function createMeasurements() {
  const byKind = new Map<string, number[]>();
  const byAttack = new Map<string, number[]>();
  const problems: Problem[] = [];
  let failures = 0;
  let attack = 'nobody';
  const add = (times: Map<string, number[]>, key: string, ms: number): void => {
    const known = times.get(key);
    if (known) known.push(ms);
    else times.set(key, [ms]);
  };
  return {
    problems,
    get failures() {
      return failures;
    },
    /** From now on this one attacks. */
    attackedBy(name: string): void {
      attack = name;
    },
    took(kind: string, ms: number): void {
      add(byKind, kind, ms);
      add(byAttack, attack, ms);
    },
    failed(kind: string, what: string): void {
      failures += 1;
      if (problems.length < maxProblems)
        problems.push({ at: new Date().toISOString(), kind, during: attack, what: what.slice(0, 500) });
    },
    all: (): Times => summarize([...byKind.values()].flat()),
    byKind: (): Record<string, Times> => summaries(byKind),
    byAttack: (): Record<string, Times> => summaries(byAttack),
  };
}

const summaries = (times: ReadonlyMap<string, number[]>): Record<string, Times> =>
  Object.fromEntries([...times].map(([key, list]) => [key, summarize(list)]));

function summarize(times: readonly number[]): Times {
  const sorted = Float64Array.from(times).sort();
  const at = (share: number): number =>
    round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), max: at(1) };
}

const round = (ms: number): number => Math.round(ms * 10) / 10;
