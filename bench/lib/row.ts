import { at } from './at.ts';
import type { Bench } from './bench.ts';

/** One row of the table: the measurement, the peer, and the target. */
export interface Row {
  /** For `--only`. */
  readonly name: string;
  /** A few words, for the picture. */
  readonly title: string;
  readonly what: string;
  readonly measuredAs: string;
  readonly goal: Goal;
  readonly needs?: readonly Need[];
  /** Runs in the smoke test: quick, and not at the mercy of a busy machine. */
  readonly cheap?: boolean;
  /** The duration in seconds on two cores, for the estimate. */
  readonly lasts: { readonly setup: number; readonly round: number };
  measure(bench: Bench): Promise<Measured>;
}

export type Need = 'postgres' | 'redis';

export interface Goal {
  readonly kind: 'at least' | 'at most' | 'reported';
  readonly value: number;
  readonly unit: '' | ' ms' | ' s' | ' %';
}

export interface Measured {
  /** One for each round; the median is what counts. */
  readonly values: readonly number[];
  /** What the values were made of. */
  readonly parts: readonly Part[];
  /** A few words to stand beside the verdict. */
  readonly note?: string;
}

export interface Part {
  readonly label: string;
  readonly unit: string;
  /** One for each round. */
  readonly values: readonly number[];
}

export const atLeast = (value: number): Goal => ({ kind: 'at least', value, unit: '' });
export const atMost = (value: number, unit: Goal['unit'] = ''): Goal => ({ kind: 'at most', value, unit });
export const reported: Goal = { kind: 'reported', value: 0, unit: '' };

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? at(sorted, middle) : (at(sorted, middle - 1) + at(sorted, middle)) / 2;
}

export const quantile = (values: readonly number[], q: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * q))] ?? Number.NaN;
