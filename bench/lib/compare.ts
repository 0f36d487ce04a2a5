import type { Bench } from './bench.ts';
import type { Child } from './child.ts';
import { type Measured, median } from './row.ts';

/** One of the two things that are measured in turn. */
export interface Side {
  readonly label: string;
  /** The process whose processor time is told; beside noise a steadier measure than the rate. */
  readonly child: Child;
  /** Loads it once. */
  run(): Promise<{ readonly requests: number; readonly seconds: number }>;
}

interface Taken {
  readonly rate: number;
  readonly cpu: number;
}

/**
 * Both sides in turn, whoever was second begins the next round, so that what else the machine does hits both alike.
 * Answers the ratio of their rates, round by round.
 */
export async function compareRates(
  bench: Bench,
  sides: { readonly ours: Side; readonly reference: Side },
  { as = 'rate', unit = 'requests/s' }: { as?: 'rate' | 'time'; unit?: string } = {},
): Promise<Measured> {
  const taken = { ours: [] as Taken[], reference: [] as Taken[] };
  for (const side of ['ours', 'reference'] as const) {
    bench.progress(`warming up ${sides[side].label}`);
    await take(sides[side]);
  }
  for (let round = 0; round < bench.rounds; round++) {
    const order = round % 2 === 0 ? (['ours', 'reference'] as const) : (['reference', 'ours'] as const);
    for (const side of order) {
      bench.progress(`round ${round + 1} of ${bench.rounds}: ${sides[side].label}`);
      taken[side].push(await take(sides[side]));
    }
  }
  if (bench.profiles) {
    for (const side of ['ours', 'reference'] as const) {
      bench.progress(`profiling ${sides[side].label}`);
      await sides[side].child.call('startProfile');
      await sides[side].run();
      await sides[side].child.call('stopProfile', `${bench.profiles}-${side}.cpuprofile`);
    }
  }
  const ratios = (of: (one: Taken) => number): number[] =>
    taken.ours.map((one, round) => of(one) / of(taken.reference[round]!));
  const describe = (side: keyof typeof taken): string => {
    const rate = median(taken[side].map((one) => one.rate));
    return `${Math.round(rate).toLocaleString('en')} ${unit}, ${median(taken[side].map(({ cpu }) => cpu)).toFixed(1)} µs of processor time each`;
  };
  const rates = ratios(({ rate }) => rate);
  return {
    values: as === 'rate' ? rates : rates.map((ratio) => 1 / ratio),
    parts: {
      [sides.ours.label]: describe('ours'),
      [sides.reference.label]: describe('reference'),
      'ratio of processor time': median(ratios(({ cpu }) => cpu)).toFixed(2),
    },
  };
}

async function take({ child, run }: Side): Promise<Taken> {
  const before = await child.cpu();
  const { requests, seconds } = await run();
  return { rate: requests / seconds, cpu: ((await child.cpu()) - before) / requests };
}

/** The same for anything that can be measured as one number, taken anew in each round. */
export async function compareValues(
  bench: Bench,
  ours: { readonly label: string; take(): Promise<number> },
  reference: { readonly label: string; take(): Promise<number> },
  unit: string,
): Promise<Measured> {
  const taken = new Map<object, number[]>([
    [ours, []],
    [reference, []],
  ]);
  for (let round = 0; round < bench.rounds; round++) {
    for (const side of round % 2 === 0 ? [ours, reference] : [reference, ours]) {
      bench.progress(`round ${round + 1} of ${bench.rounds}: ${side.label}`);
      taken.get(side)!.push(await side.take());
    }
  }
  const describe = (side: object) => `${Math.round(median(taken.get(side)!)).toLocaleString('en')} ${unit}`;
  return {
    values: taken.get(ours)!.map((value, round) => value / taken.get(reference)![round]!),
    parts: { [ours.label]: describe(ours), [reference.label]: describe(reference) },
  };
}
