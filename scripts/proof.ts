/**
 * The long runs, apart from CI:
 *
 *   npm run proof                          lists them
 *   npm run proof -- mixed                 an hour of mixed hostile and honest load
 *   npm run proof -- mixed --minutes 3     a shorter one
 *   npm run proof -- crash --rounds 1000
 *
 * `--json` prints the report as one line. Exits 1 where something was broken, 2 after wrong usage.
 */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createProgress, durationText } from '../server/src/cli/progress.ts';
import { createScope } from '../server/test/proof/scope.ts';
import { skipWithoutRedisServer } from '../server/test/redis.ts';
import { type LoadProof, lengthOf, type Proof, proofs, secondsOf, shortRoundOf, type TestProof } from './proofs.ts';
import { runTests } from './run-tests.ts';

interface Outcome {
  /** In plain words; empty if it holds. */
  readonly broken: readonly string[];
  readonly text: string;
  readonly report: object;
}

const progress = createProgress(process.stderr);
const scope = createScope();

function refuse(words: string): never {
  console.error(`${words}\n\nnpm run proof -- <name> [--minutes N | --rounds N] [--pace N] [--json]\n\n${list()}`);
  process.exit(2);
}

function list(): string {
  const row = (...[name = '', length = '', takes = '', short = '', shows = '']: string[]): string =>
    `  ${name.padEnd(15)} ${length.padEnd(12)} ${takes.padEnd(8)} ${short.padEnd(10)} ${shows}`;
  return [
    row('name', 'length', 'takes', 'in CI', 'shows'),
    ...proofs.map((proof) =>
      row(proof.name, lengthOf(proof), durationText(secondsOf(proof)), shortRoundOf(proof), proof.shows),
    ),
    '\nThe whole suite again and again: npm run soak',
  ].join('\n');
}

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        minutes: { type: 'string' },
        rounds: { type: 'string' },
        pace: { type: 'string' },
        seed: { type: 'string' },
        json: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

const { values, positionals } = readArguments();

/** The value of an option that must be a number above zero. */
function number(name: 'minutes' | 'rounds' | 'pace' | 'seed', usual: number, whole: boolean): number {
  const value = Number(values[name] ?? usual);
  if (value > 0 && (!whole || Number.isInteger(value))) return value;
  return refuse(`--${name} takes a ${whole ? 'whole ' : ''}number above 0, not "${values[name]}".`);
}

function chosen(): Proof {
  const [name, ...more] = positionals;
  const proof = proofs.find((one) => one.name === name);
  if (!proof || more.length > 0)
    return refuse(more.length > 0 ? 'One proof at a time.' : `There is no proof "${name}".`);
  if (proof.kind === 'load' && proof.load !== 'mixed' && values.seed !== undefined)
    refuse(`${proof.name} takes no --seed.`);
  if (proof.kind === 'load' && values.rounds !== undefined) refuse(`${proof.name} takes --minutes, not --rounds.`);
  if (proof.kind === 'tests' && (values.minutes ?? values.pace ?? values.seed) !== undefined)
    refuse(`${proof.name} takes --rounds, and none of --minutes, --pace and --seed.`);
  return proof;
}

/** From one alert to the next, and alerts between two samples. */
const overlayPace = { paceMs: 3500, alerts: 17 };

async function runOverlayLoad({ minutes }: LoadProof, directory: string): Promise<Outcome> {
  const { overlayText, runOverlay } = await import('../server/test/proof/overlay.ts');
  const { paceMs, alerts } = overlayPace;
  const samples = Math.ceil((60_000 * number('minutes', minutes, false)) / (paceMs * alerts));
  const report = await runOverlay({
    scope,
    directory,
    samples,
    alerts,
    paceMs: paceMs / number('pace', 1, false),
    seconds: 1,
    progress: progress.show,
  });
  return { broken: report.broken, text: overlayText(report), report };
}

async function runNormalLoad({ shape, minutes }: LoadProof, directory: string): Promise<Outcome> {
  if (shape === 'nodes' && skipWithoutRedisServer) throw new Error(skipWithoutRedisServer);
  const { skipWithoutPrometheus } = await import('../server/test/prometheus.ts');
  if (skipWithoutPrometheus) throw new Error(skipWithoutPrometheus);
  const [alerts, { fullSize }] = await Promise.all([
    import('../server/test/proof/alerts.ts'),
    import('../server/test/proof/mixed.ts'),
  ]);
  const report = await alerts.runNormalLoad({
    scope,
    shape,
    seconds: Math.round(60 * number('minutes', minutes, false)),
    directory,
    pace: number('pace', 1, false),
    size: fullSize,
    scrapeSeconds: 15,
    progress: progress.show,
  });
  return { broken: report.broken, text: alerts.normalLoadText(report), report };
}

async function runLoad(proof: LoadProof, directory: string): Promise<Outcome> {
  if (proof.load === 'overlay') return runOverlayLoad(proof, directory);
  if (proof.load === 'alerts') return runNormalLoad(proof, directory);
  const { shape, minutes } = proof;
  if (shape === 'nodes' && skipWithoutRedisServer) throw new Error(skipWithoutRedisServer);
  // Loaded only now, so that the list comes at once.
  const { fullSize, runMixed } = await import('../server/test/proof/mixed.ts');
  const { reportText } = await import('../server/test/proof/report.ts');
  const report = await runMixed({
    scope,
    shape,
    seconds: Math.round(60 * number('minutes', minutes, false)),
    directory,
    seed: number('seed', 1 + (Date.now() % 1_000_000), true),
    pace: number('pace', 1, false),
    size: fullSize,
    leastShare: 0.5,
    progress: progress.show,
  });
  return { broken: report.broken, text: reportText(report), report };
}

async function runTestFiles(proof: TestProof, directory: string): Promise<Outcome> {
  const rounds = number('rounds', proof.rounds, true);
  const args = [proof.shape, ...proof.files];
  const started = performance.now();
  const total = rounds * proof.secondsARound;
  const broken: string[] = [];
  const seeds: number[] = [];
  const diagnostics: string[] = [];
  const timer = setInterval(() => {
    const seconds = Math.round((performance.now() - started) / 1000);
    progress.show(`${proof.name}: ${durationText(seconds)} of about ${durationText(total)}`);
  }, 1000);
  for (let run = 0; run < (proof.repeat === 'runs' ? rounds : 1) && broken.length === 0; run += 1) {
    // PROOF: nothing else of the suite runs beside it, so limits of time are as strict as the requirements.
    const env = { PROOF: '1', ...(proof.repeat === 'inside' ? { TEST_ROUNDS: String(rounds) } : {}) };
    const { passed, seed, log, failedIn, diagnostics: figures } = await runTests(args, directory, env);
    seeds.push(seed);
    diagnostics.push(...figures);
    if (!passed) broken.push(`failed in ${failedIn} with TEST_SEED=${seed}; log: ${log}`);
  }
  clearInterval(timer);
  const seconds = Math.round((performance.now() - started) / 1000);
  const verdict =
    broken.length > 0 ? `BROKEN:\n  ${broken.join('\n  ')}` : `It holds: ${rounds} rounds, ${durationText(seconds)}.`;
  const text = [verdict, ...diagnostics].join('\n  ');
  return { broken, text, report: { proof: proof.name, rounds, seconds, seeds, broken, diagnostics } };
}

if (positionals.length === 0) {
  if (Object.keys(values).length > 1) refuse('Say which proof.');
  console.log(list());
  process.exit();
}
const proof = chosen();
const directory = mkdtempSync(join(tmpdir(), `namjai-proof-${proof.name}-`));
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, async () => {
    progress.clear();
    console.error('Broken off: there is no report.');
    await scope.end();
    process.exit(130);
  });

let outcome: Outcome;
try {
  outcome = proof.kind === 'load' ? await runLoad(proof, directory) : await runTestFiles(proof, directory);
} catch (error) {
  outcome = {
    broken: ['it could not be run to its end'],
    text: `It could not be run to its end: ${error}`,
    report: {},
  };
  console.error(error);
}
await scope.end();
progress.clear();
const file = join(directory, 'report.json');
writeFileSync(file, `${JSON.stringify(outcome.report, null, 2)}\n`);
// What the servers stored and logged is only of use where something was broken.
if (outcome.broken.length === 0)
  for (const name of readdirSync(directory))
    if (name !== 'report.json') rmSync(join(directory, name), { recursive: true });
const printed = values.json ? JSON.stringify(outcome.report) : `${outcome.text}\n\n${file}`;
process.stdout.write(`${printed}\n`, () => process.exit(outcome.broken.length === 0 ? 0 : 1));
