/** A victim's calls while somebody attacks, beside the same calls in peace. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Answers } from '../../server/test/flood.ts';
import type { Bench } from './bench.ts';
import type { Child } from './child.ts';
import { orderOf } from './compare.ts';
import type { Namjai } from './namjai.ts';
import { type Measured, median, quantile } from './row.ts';
import type { PaceOptions, VictimOptions } from './victim-worker.ts';

interface Attack {
  /** The number of the attack: what a minute allows is used up in one, so each has attackers of its own. */
  begin(number: number): Promise<void>;
  end(): Promise<Answers>;
}

export interface AttackRun {
  readonly server: Namjai;
  readonly attacker: Child;
  readonly victim: Pick<VictimOptions, 'tokens' | 'once'>;
  readonly attack: Attack;
}

export const callsPerSecond = 50;

/** Below this a time is one of the machine's scheduler rather than of the server: a shorter p99 in peace counts as this. */
const shortestMs = 1;

/** Code that has not been optimized yet, of the server and of the attack, is not what is measured. */
const warmUpSeconds = (bench: Bench): number => (bench.short ? 0.5 : 4);

/** How long the victim calls in a round, once in peace and once under attack: a minute's allowance lasts for seconds. */
const roundSeconds = (bench: Bench): number => (bench.short ? 0.5 : 7);

/** With the one that warms up. */
export const attacksOf = ({ rounds }: Bench): number => rounds + 1;

const kinds = ['attacked', 'baseline'] as const;

interface AttackFigures {
  readonly times: number[];
  /** Microseconds of processor time. */
  server: number;
  attacker: number;
  seconds: number;
  answers: number;
}

/** The victim's p99 under attack divided by its p99 in peace, for each round. */
export async function compareWithBaseline(bench: Bench, run: AttackRun): Promise<Measured> {
  const { server, attacker, victim, attack } = run;
  const client = bench.start(new URL('./victim-worker.ts', import.meta.url));
  await client.call('prepare', { port: server.port, ...victim } satisfies VictimOptions);
  const pace = (seconds: number) =>
    client.call<number[]>('pace', { perSecond: callsPerSecond, seconds } satisfies PaceOptions);
  let attacks = 0;

  async function take(kind: (typeof kinds)[number], into: AttackFigures, seconds: number): Promise<void> {
    await untilIdle(server.child);
    await client.call('connect');
    const [serverBefore, attackerBefore, begun] = [await server.child.cpu(), await attacker.cpu(), performance.now()];
    if (kind === 'attacked') await attack.begin(attacks++);
    into.times.push(...(await pace(seconds)));
    const answers = kind === 'attacked' ? await attack.end() : {};
    into.answers += Object.values(answers).reduce((sum, count) => sum + count, 0);
    into.seconds += (performance.now() - begun) / 1000;
    into.server += (await server.child.cpu()) - serverBefore;
    into.attacker += (await attacker.cpu()) - attackerBefore;
  }

  bench.progress('warming up');
  for (const kind of kinds.toReversed()) await take(kind, none(), warmUpSeconds(bench));
  const rounds = { attacked: [] as AttackFigures[], baseline: [] as AttackFigures[] };
  for (let round = 0; round < bench.rounds; round++) {
    for (const kind of orderOf(round, kinds)) {
      bench.progress(`round ${round + 1} of ${bench.rounds}: ${kind === 'baseline' ? 'in peace' : 'under attack'}`);
      const taken = none();
      await take(kind, taken, roundSeconds(bench));
      rounds[kind].push(taken);
    }
  }
  return measuredOf(rounds);
}

/** The warm-up and all rounds of one side. */
export const secondsOfSide = (bench: Bench): number => bench.rounds * roundSeconds(bench) + warmUpSeconds(bench);

const none = (): AttackFigures => ({ times: [], server: 0, attacker: 0, seconds: 0, answers: 0 });

function measuredOf(rounds: Record<(typeof kinds)[number], readonly AttackFigures[]>): Measured {
  const p99s = (kind: (typeof kinds)[number]): number[] => rounds[kind].map(({ times }) => quantile(times, 0.99));
  const [attacked, baseline] = [p99s('attacked'), p99s('baseline')];
  const each = (kind: (typeof kinds)[number], of: (taken: AttackFigures) => number): number[] => rounds[kind].map(of);
  const side = (label: string, kind: (typeof kinds)[number]) => [
    { label, unit: 'ms at p99', values: p99s(kind) },
    { label, unit: 'ms in the middle', values: each(kind, ({ times }) => median(times)) },
    { label, unit: 'ms at most', values: each(kind, ({ times }) => Math.max(...times)) },
    { label, unit: 'of a core for the server', values: each(kind, ({ server, seconds }) => server / seconds / 1e6) },
  ];
  return {
    values: attacked.map((p99, round) => p99 / Math.max(shortestMs, baseline[round] ?? 0)),
    parts: [
      ...side('under attack', 'attacked'),
      ...side('in peace', 'baseline'),
      { label: 'attacker', unit: 'answers/s', values: each('attacked', ({ answers, seconds }) => answers / seconds) },
      {
        label: 'attacker',
        unit: 'of a core',
        values: each('attacked', ({ attacker, seconds }) => attacker / seconds / 1e6),
      },
    ],
    note: `p99 ${median(attacked).toFixed(1)} ms, ${median(baseline).toFixed(1)} ms in peace`,
  };
}

const idleShare = 0.1;
const longestWaitMs = 20_000;

/** What an attack has left behind must not slow down the peace that follows: then it would count for less. */
async function untilIdle(server: Child): Promise<void> {
  const deadline = performance.now() + longestWaitMs;
  for (let before = await server.cpu(); performance.now() < deadline; ) {
    const begun = performance.now();
    await delay(200);
    const used = await server.cpu();
    if ((used - before) / 1000 < idleShare * (performance.now() - begun)) return;
    before = used;
  }
}
