import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import type { Child } from './child.ts';
import type { Side } from './compare.ts';
import type { Part } from './row.ts';

/** A side that is watched for who uses the processors while it is loaded, as /proc tells. */
export interface Watched {
  readonly side: Side;
  /** A share of a core and the time of one request, for each part of the deployment; nothing where there is no /proc. */
  parts(): Part[];
}

type Times = ReadonlyMap<string, number>;

/** Linux reports CPU time in hundredths of a second, independently of the kernel's tick. */
const tickUs = 10_000;

/** By the name of the program, if it is none of `children`. */
const programs: Record<string, string> = { postgres: 'PostgreSQL', 'redis-server': 'Redis' };

export function watch(side: Side, children: ReadonlyMap<string, Child>): Watched {
  const names = new Map([...children].map(([name, { process }]) => [process.pid, name]));
  const taken: { readonly used: Times; readonly requests: number; readonly seconds: number }[] = [];
  return {
    side: {
      ...side,
      async run(part) {
        const before = processorTimes(names);
        const done = await side.run(part);
        const used = new Map([...processorTimes(names)].map(([name, us]) => [name, us - (before.get(name) ?? 0)]));
        taken.push({ ...done, used });
        return done;
      },
    },
    parts() {
      // The first run warms up.
      const runs = taken.slice(1);
      const found = [...new Set(runs.flatMap(({ used }) => [...used.keys()]))];
      const values = (of: (run: (typeof runs)[number], us: number) => number, name?: string): number[] =>
        runs.map((run) => of(run, name ? (run.used.get(name) ?? 0) : sum(run.used.values())));
      const share = (run: { seconds: number }, us: number): number => us / 1e6 / run.seconds;
      return found.length === 0
        ? []
        : [
            ...found.flatMap((name) => [
              { label: `${side.label}, ${name}`, unit: 'of a core', values: values(share, name) },
              {
                label: `${side.label}, ${name}`,
                unit: 'µs each',
                values: values((run, us) => us / run.requests, name),
              },
            ]),
            { label: `${side.label}, all`, unit: `of ${availableParallelism()} cores`, values: values(share) },
          ];
    },
  };
}

const sum = (numbers: Iterable<number>): number => [...numbers].reduce((a, b) => a + b, 0);

/** Microseconds used so far by this process's descendants, by name. */
function processorTimes(names: ReadonlyMap<number | undefined, string>): Times {
  const parents = new Map<number, number>();
  const used = new Map<number, { readonly name: string; readonly us: number }>();
  for (const entry of readProc()) {
    const pid = Number(entry);
    const stat = readStat(pid);
    if (!stat) continue;
    parents.set(pid, stat.parent);
    const name = names.get(pid) ?? programs[stat.program];
    if (name !== undefined) used.set(pid, { name, us: stat.us });
  }
  const isOurs = (pid: number): boolean => {
    for (let at: number | undefined = pid; at !== undefined; at = parents.get(at)) if (at === process.pid) return true;
    return false;
  };
  const times = new Map<string, number>();
  for (const [pid, { name, us }] of used) if (isOurs(pid)) times.set(name, (times.get(name) ?? 0) + us);
  return times;
}

function readProc(): string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

/** proc_pid_stat(5): the program's name is in brackets and may contain any character. */
function readStat(pid: number): { program: string; parent: number; us: number } | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  const end = text.lastIndexOf(')');
  const fields = text.slice(end + 2).split(' ');
  return {
    program: text.slice(text.indexOf('(') + 1, end),
    parent: Number(fields[1]),
    us: (Number(fields[11]) + Number(fields[12])) * tickUs,
  };
}
