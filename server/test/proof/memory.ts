/** Memory and open files of a server, by its own /metrics, and whether they stay flat. */
export interface Sample {
  readonly seconds: number;
  /** Without what V8 keeps empty: between 30 and 140 MiB of semi-spaces, for minutes or for an hour. */
  readonly rss: number;
  readonly heap: number;
  readonly files: number;
}

const warmUpShare = 0.2;
const MiB = 1024 * 1024;

/** How much the last third of the samples after the warm-up may lie above the first. */
export interface Bound {
  readonly share: number;
  readonly more: number;
  /** From so many samples on growth is told from noise. */
  readonly fewest: number;
}

/** Ten minutes. */
const fewest = 120;

/**
 * The share is for what a collector leaves lying about, the rest for the pages of a database that grows meanwhile. A leak
 * of 40 bytes for each of the million requests of an hour is beyond it.
 */
const serverBounds = {
  rss: { share: 0.1, more: 32 * MiB, fewest },
  heap: { share: 0.15, more: 16 * MiB, fewest },
  files: { share: 0, more: 40, fewest },
} as const;

export interface Growth<Kind extends string = keyof typeof serverBounds> {
  readonly kind: Kind;
  readonly first: number;
  readonly last: number;
  /** `short`: too few samples to say. */
  readonly verdict: 'flat' | 'grows' | 'short';
}

/** Of a server. */
export const growthOf = (samples: readonly Sample[]): Growth[] =>
  growthWithin<keyof typeof serverBounds>(samples, serverBounds);

export function growthWithin<Kind extends string>(
  samples: readonly Readonly<Record<Kind, number>>[],
  bounds: Readonly<Record<Kind, Bound>>,
): Growth<Kind>[] {
  const settled = samples.slice(Math.floor(samples.length * warmUpShare));
  const third = Math.floor(settled.length / 3);
  return (Object.keys(bounds) as Kind[]).map((kind) => {
    const first = median(settled.slice(0, third).map((sample) => sample[kind]));
    const last = median(settled.slice(-third).map((sample) => sample[kind]));
    const { share, more, fewest } = bounds[kind];
    if (samples.length < fewest) return { kind, first, last, verdict: 'short' };
    return { kind, first, last, verdict: last > first * (1 + share) + more ? 'grows' : 'flat' };
  });
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

/** Reads /metrics of one server. */
export async function sample(metricsUrl: string, seconds: number): Promise<Sample> {
  const text = await (await fetch(metricsUrl)).text();
  const value = (name: string): number => {
    const found = new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1];
    if (found === undefined) throw new Error(`/metrics has no ${name}`);
    return Number(found);
  };
  const heap = value('nodejs_heap_size_used_bytes');
  const empty = value('nodejs_heap_size_total_bytes') - heap;
  return {
    seconds,
    rss: value('process_resident_memory_bytes') - empty,
    heap,
    files: value('process_open_fds'),
  };
}
