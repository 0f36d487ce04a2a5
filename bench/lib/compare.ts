import { at } from './at.ts';
import type { Bench } from './bench.ts';
import type { Child } from './child.ts';
import { type Measured, median, type Part } from './row.ts';

/** One of the two programs that are measured alternately. */
export interface Side {
  readonly label: string;
  /** The process whose CPU time is reported. On a noisy machine it is a steadier measure than the rate. */
  readonly child: Child;
  /** The load generator or the receiver. Its CPU share is reported, because it must not be the bottleneck. */
  readonly generator?: Child;
  /** Whether a round may be cut into parts. */
  readonly divisible?: boolean;
  /** Loads it once, for this part of a round. */
  run(part: number): Promise<{ readonly requests: number; readonly seconds: number }>;
}

interface Used {
  readonly requests: number;
  readonly seconds: number;
  /** Microseconds of processor time. */
  readonly cpu: number;
  readonly generatorCpu: number;
}

interface RoundFigures {
  readonly rate: number;
  readonly cpu: number;
  readonly busy: number;
}

/** The speed of a shared machine changes within seconds, so a round alternates between the sides. */
const partsOfRound = 6;

/** The order alternates from round to round, so that other load affects both sides alike. */
export const orderOf = <T>(round: number, [first, second]: readonly [T, T]): readonly T[] =>
  round % 2 === 0 ? [first, second] : [second, first];

/** Measures both sides alternately. Returns the ratio of their rates for each round. */
export async function compareRates(
  bench: Bench,
  sides: { readonly ours: Side; readonly reference: Side },
  { as = 'rate', unit = 'requests/s' }: { as?: 'rate' | 'time'; unit?: string } = {},
): Promise<Measured> {
  const taken = { ours: [] as RoundFigures[], reference: [] as RoundFigures[] };
  const both = ['ours', 'reference'] as const;
  for (const side of both) {
    bench.progress(`warming up ${sides[side].label}`);
    await take(sides[side], 1);
  }
  const parts = sides.ours.divisible && sides.reference.divisible && !bench.short ? partsOfRound : 1;
  for (let round = 0; round < bench.rounds; round++) {
    const used = { ours: [] as Used[], reference: [] as Used[] };
    for (let part = 0; part < parts; part++)
      for (const side of orderOf(round + part, both)) {
        bench.progress(`round ${round + 1} of ${bench.rounds}: ${sides[side].label}`);
        used[side].push(await take(sides[side], 1 / parts));
      }
    for (const side of both) taken[side].push(together(used[side]));
  }
  if (bench.profiles)
    for (const side of both) {
      bench.progress(`profiling ${sides[side].label}`);
      await profile(sides[side], `${bench.profiles}-${side}.cpuprofile`);
    }
  const ratios = (of: (one: RoundFigures) => number): number[] =>
    taken.ours.map((one, round) => of(one) / of(at(taken.reference, round)));
  const rates = ratios(({ rate }) => rate);
  const partsOf = (side: (typeof both)[number]): Part[] => [
    { label: sides[side].label, unit, values: taken[side].map(({ rate }) => rate) },
    { label: sides[side].label, unit: 'µs of processor time each', values: taken[side].map(({ cpu }) => cpu) },
  ];
  return {
    values: as === 'rate' ? rates : rates.map((ratio) => 1 / ratio),
    parts: [
      ...partsOf('ours'),
      ...partsOf('reference'),
      { label: 'processor time', unit: 'times the other', values: ratios(({ cpu }) => cpu) },
      ...generatorPart(both.flatMap((side) => (sides[side].generator ? taken[side].map(({ busy }) => busy) : []))),
    ],
  };
}

async function take({ child, generator, run }: Side, part: number): Promise<Used> {
  const [before, generatorBefore] = [await child.cpu(), (await generator?.cpu()) ?? 0];
  const { requests, seconds } = await run(part);
  return {
    requests,
    seconds,
    cpu: (await child.cpu()) - before,
    generatorCpu: ((await generator?.cpu()) ?? 0) - generatorBefore,
  };
}

function together(parts: readonly Used[]): RoundFigures {
  const sum = (of: keyof Used): number => parts.reduce((total, used) => total + used[of], 0);
  const [requests, seconds] = [sum('requests'), sum('seconds')];
  return { rate: requests / seconds, cpu: sum('cpu') / requests, busy: sum('generatorCpu') / seconds / 1e6 };
}

async function profile({ child, run }: Side, file: string): Promise<void> {
  await child.call('startProfile');
  await run(1);
  await child.call('stopProfile', file);
}

/** A measurement of one number in each round. */
export interface Single {
  readonly label: string;
  take(): Promise<{ readonly value: number; readonly busy?: number }>;
}

export async function compareValues(
  bench: Bench,
  sides: { readonly ours: Single; readonly reference: Single },
  unit: string,
): Promise<Measured> {
  const taken = { ours: [] as number[], reference: [] as number[] };
  const busy: number[] = [];
  for (let round = 0; round < bench.rounds; round++)
    for (const side of orderOf(round, ['ours', 'reference'] as const)) {
      bench.progress(`round ${round + 1} of ${bench.rounds}: ${sides[side].label}`);
      const one = await sides[side].take();
      taken[side].push(one.value);
      if (one.busy !== undefined) busy.push(one.busy);
    }
  return {
    values: taken.ours.map((value, round) => value / at(taken.reference, round)),
    parts: [
      { label: sides.ours.label, unit, values: taken.ours },
      { label: sides.reference.label, unit, values: taken.reference },
      ...generatorPart(busy),
    ],
  };
}

const generator = 'load generator';

const generatorPart = (busy: readonly number[]): Part[] =>
  busy.length > 0 ? [{ label: generator, unit: 'of a core', values: busy }] : [];

/** The note beside a figure: the row's own, or that the load generator may limit it. */
export function noteOf({ parts, note }: Measured): string | null {
  const share = median(parts.find(({ label }) => label === generator)?.values ?? [0]);
  const limit = share > 0.95 ? `the load generator used ${share.toFixed(2)} of a core: it may be the limit` : null;
  return note ?? limit;
}
