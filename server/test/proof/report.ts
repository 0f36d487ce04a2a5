import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { durationText } from '../../src/cli/progress.ts';
import { tipsASecond } from './honest.ts';
import type { Hostile, Outcomes } from './hostile.ts';
import type { CreatorRecord, Finding, Ledger, WebhookRecord } from './ledger.ts';
import type { Measurements, Problem, Times } from './measurements.ts';
import { type Growth, growthOf, type Sample } from './memory.ts';
import type { Servers, Shape } from './servers.ts';

export interface MixedReport {
  readonly shape: Shape;
  readonly at: string;
  readonly seconds: number;
  readonly seed: number;
  readonly pace: number;
  /** What was broken, in plain words. Empty: the proof holds. */
  readonly broken: readonly string[];
  readonly counts: { tips: number; events: number; socketEvents: number; webhooks: number; honestCalls: number };
  readonly honest: {
    all: Times;
    byKind: Record<string, Times>;
    byAttack: Record<string, Times>;
    problems: readonly Problem[];
  };
  readonly findings: readonly Finding[];
  readonly memory: readonly (readonly Growth[])[];
  readonly attacks: Record<string, Outcomes>;
  readonly samples: readonly (readonly Sample[])[];
}

export interface ReportParts {
  readonly options: {
    readonly shape: Shape;
    readonly seconds: number;
    readonly seed: number;
    readonly pace: number;
    readonly leastShare: number;
  };
  readonly ledger: Ledger;
  readonly records: readonly CreatorRecord[];
  readonly webhooks: readonly WebhookRecord[];
  readonly measurements: Measurements;
  /** Of each server. */
  readonly samples: readonly (readonly Sample[])[];
  readonly hostile: Pick<Hostile, 'outcomes' | 'expectedErrors'>;
  readonly servers: Servers;
}

export async function report(parts: ReportParts): Promise<MixedReport> {
  const { options, ledger, records, webhooks, measurements, samples, hostile, servers } = parts;
  const { shape, seconds, seed, pace, leastShare } = options;
  const findings = ledger.judge(records, webhooks);
  const memory = samples.map(growthOf);
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
  const all = measurements.all();
  const broken = [
    ...servers.ended().map((server) => `a server has ended by itself: ${server}`),
    ...(measurements.failures > 0 ? [`${measurements.failures} honest calls went wrong`] : []),
    ...findings.map(({ what, count, examples }) => `${count} ${what}, such as ${examples[0]}`),
    ...memory.flatMap((growths, i) =>
      growths.filter(({ verdict }) => verdict === 'grows').map((growth) => `server ${i + 1}: ${growthText(growth)}`),
    ),
    ...[...hostile.outcomes].flatMap(([name, outcomes]) => hostileProblems(name, outcomes)),
    ...(await Promise.all(servers.logFiles.map((file) => errorLines(file, hostile.expectedErrors)))).flat(),
    ...(ledger.answered.size < leastShare * tipsASecond * pace * seconds
      ? [`only ${ledger.answered.size} tips were recorded: the machine was too slow for this load`]
      : []),
  ];
  return {
    shape,
    seconds,
    seed,
    pace,
    at: new Date().toISOString(),
    broken,
    counts: {
      tips: ledger.answered.size,
      events: sum(records.map(({ events }) => events.length)),
      socketEvents: sum(records.flatMap(({ streams }) => streams.map(({ events }) => events.length))),
      webhooks: sum(webhooks.map(({ received }) => sum([...received.values()]))),
      honestCalls: all.count,
    },
    honest: {
      all,
      byKind: measurements.byKind(),
      byAttack: measurements.byAttack(),
      problems: measurements.problems,
    },
    findings,
    memory,
    attacks: Object.fromEntries(hostile.outcomes),
    samples,
  };
}

/** An attacker is refused. A 5xx means that the server had not thought of something. */
function hostileProblems(name: string, { seen }: Outcomes): string[] {
  return Object.entries(seen)
    .filter(([outcome]) => /^5\d\d$|^failed/.test(outcome))
    .map(([outcome, count]) => `${name}: ${count} times ${outcome}`);
}

const maxLines = 3;

/** Lines of level error and fatal in a server's log, but for requests that had to fail. */
async function errorLines(file: string, expected: ReadonlySet<string>): Promise<string[]> {
  const lines: string[] = [];
  let count = 0;
  for await (const line of createInterface(createReadStream(file)))
    if (/^\{"level":[56]0/.test(line) && !expected.has(/"request_id":"(\w+)"/.exec(line)?.[1] ?? '')) {
      count += 1;
      if (lines.length < maxLines) lines.push(line.slice(0, 300));
    }
  return count === 0 ? [] : [`${count} errors in ${file}, such as ${lines[0]}`];
}

const MiB = 1024 * 1024;

function growthText({ kind, first, last, verdict }: Growth): string {
  const text = (value: number): string => (kind === 'files' ? String(value) : `${Math.round(value / MiB)} MiB`);
  const name = { rss: 'memory', heap: 'heap', files: 'open files' }[kind];
  return `${name} ${text(first)} → ${text(last)}${verdict === 'grows' ? ', grows' : verdict === 'short' ? ' (too short to judge)' : ''}`;
}

/** On one screen. */
export function reportText(report: MixedReport): string {
  const { counts, honest, memory, attacks, broken, shape, seconds } = report;
  const times = ({ p50, p99, max }: Times): string =>
    `${String(p50).padStart(7)} ${String(p99).padStart(8)} ${String(max).padStart(8)}`;
  const where = shape === 'nodes' ? 'two nodes on PostgreSQL and Redis' : 'one process on SQLite';
  const row = (name: string, list: Times): string =>
    `  ${name.padEnd(42)}${String(list.count).padStart(8)} ${times(list)}`;
  const hostileAnswers = Object.values(attacks).reduce(
    (sum, { seen }) => sum + Object.values(seen).reduce((total, count) => total + count, 0),
    0,
  );
  return [
    `${durationText(seconds)} of mixed load against ${where}`,
    '',
    `  ${'honest calls'.padEnd(42)}   count  p50 ms   p99 ms   max ms`,
    row('all', honest.all),
    ...Object.entries(honest.byKind).map(([kind, list]) => row(kind, list)),
    `  ${'… meanwhile'.padEnd(42)}`,
    ...Object.entries(honest.byAttack)
      .sort(([, a], [, b]) => b.p99 - a.p99)
      .map(([attack, list]) => row(attack, list)),
    '',
    `  ${counts.tips} tips answered 201, ${counts.events} events, ${counts.socketEvents} by sockets and streams, ${counts.webhooks} webhooks; ${hostileAnswers} hostile attempts`,
    ...memory.map((growths, i) => `  server ${i + 1}: ${growths.map(growthText).join('; ')}`),
    '',
    ...(broken.length === 0
      ? ['It holds: no honest call went wrong, nothing was lost or doubled.']
      : ['BROKEN:', ...broken.map((line) => `  ${line}`), ...honest.problems.slice(0, 10).map(problemText)]),
  ].join('\n');
}

const problemText = ({ at, kind, during, what }: Problem): string => `  ${at} ${kind}, during “${during}”: ${what}`;
