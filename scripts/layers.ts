/**
 * Who may import whom: `npm run layers`, which is part of `npm run check`.
 *
 *   main, cli, testing → app, housekeeping, welcome → runtime, services, storage → features → platform
 *
 * - Every import counts, whatever its depth, also one of types only. Circles are refused.
 * - A feature is entered through its index.ts, and imports only features of the rows below its own.
 * - Modules for the browser import only each other, the SDK, and types of features; platform/web/assets.ts
 *   refuses to serve one that imports more than types.
 * - Tests may import what they like.
 */
import { readFileSync } from 'node:fs';
import { cruise, type IRegularForbiddenRuleType } from 'dependency-cruiser';

/** From the top down. */
const rows = [
  ['dashboard', 'live', 'portal', 'docs', 'demo', 'health', 'operator'],
  ['sandbox'],
  ['leaving', 'erasure'],
  ['overlay', 'connections'],
  ['trace'],
  ['sockets', 'webhooks', 'alerts', 'rehearsal'],
  ['goals', 'screening', 'tips', 'profile'],
  ['oauth'],
  ['apps', 'accounts'],
  ['events', 'sealing'],
  ['audit'],
];

/** Draw the rows. */
const guides = ['docs/architecture.md', 'docs/architecture.th.md'];

/** With fewer modules than this the tool has not understood the sources, and would find nothing wrong with them. */
const fewestModules = 300;

const src = '^server/src/';
const features = `${src}features/`;
const tests = '\\.test\\.ts$|/fixtures/';
const one = (names: readonly string[]): string => `(${names.join('|')})`;

const rule = (
  name: string,
  comment: string,
  from: IRegularForbiddenRuleType['from'],
  to: IRegularForbiddenRuleType['to'],
): IRegularForbiddenRuleType => ({
  name,
  comment,
  severity: 'error',
  from: { pathNot: tests, ...from },
  to,
});

const forbidden: IRegularForbiddenRuleType[] = [
  rule('no-circles', 'Modules that import each other cannot be understood one at a time.', {}, { circular: true }),
  rule(
    'platform-below-all',
    'The platform imports nothing above itself.',
    { path: `${src}platform/` },
    { path: '^(server|sdk|bench|scripts)/', pathNot: `${src}platform/` },
  ),
  rule(
    'program-without-tools',
    'The program imports nothing of tests, scripts and benchmarks: no installed package has them.',
    { path: src, pathNot: [tests, `${src}platform/`] },
    { path: '^(server/test|scripts|bench)/' },
  ),
  rule(
    'features-below-app',
    'Of the files above them, features import only the settings, the error table and the audit actions.',
    { path: features },
    { path: src, pathNot: [features, `${src}platform/`, `${src}(config|errors|audit-actions)\\.ts$`] },
  ),
  rule(
    'config-and-errors-low',
    'The settings, the error table and the audit actions stand on the platform alone.',
    { path: `${src}(config|errors|audit-actions)\\.ts$` },
    { path: src, pathNot: `${src}platform/` },
  ),
  rule(
    'runtime-below-app',
    'The composition root knows no routes.',
    { path: `${src}(runtime|services|storage)\\.ts$` },
    { path: `${src}(app|main|testing|housekeeping|welcome|api-document)\\.ts$|${src}cli/` },
  ),
  rule(
    'app-below-main',
    'Nothing starts itself.',
    { path: `${src}app\\.ts$` },
    { path: `${src}((main|testing)\\.ts$|cli/)` },
  ),
  rule(
    'testing-alone',
    'What moves the clock and cuts sockets is a program of its own: no other server has it.',
    { path: '^(server|sdk)/' },
    { path: `${src}testing\\.ts$` },
  ),
  rule(
    'through-the-index',
    'A feature is entered through its index.ts.',
    { path: `${src}(?!features/)` },
    { path: `${features}[^/]+/`, pathNot: `${features}[^/]+/index\\.ts$` },
  ),
  rule(
    'through-the-index-of-another',
    'A feature is entered through its index.ts.',
    { path: `${features}([^/]+)/` },
    { path: `${features}[^/]+/`, pathNot: [`${features}[^/]+/index\\.ts$`, `${features}$1/`] },
  ),
  rule(
    'listed-feature',
    'The feature has no row in scripts/layers.ts.',
    { path: features, pathNot: [tests, `${features}${one(rows.flat())}/`] },
    {},
  ),
  ...rows.map((row, index) => {
    const below = rows.slice(index + 1).flat();
    return rule(
      `downward-from-${row[0]}`,
      `${row.join(', ')} import only features of the rows below: ${below.join(', ') || 'there are none'}.`,
      { path: `${features}${one(row)}/` },
      { path: features, pathNot: [`${features}$1/`, ...(below.length > 0 ? [`${features}${one(below)}/`] : [])] },
    );
  }),
  rule(
    'browser-alone',
    'A module for the browser imports only browser modules, the SDK, and types of features.',
    { path: `${src}(features/[^/]+|platform/web)/.*browser/` },
    { pathNot: ['/browser/', '^sdk/src/', `${src}$1/`, `${features}[^/]+/index\\.ts$`] },
  ),
  rule(
    'sdk-alone',
    'The SDK has no dependencies.',
    { path: '^sdk/src/' },
    { pathNot: '^sdk/src/', dependencyTypesNot: ['core'] },
  ),
  rule(
    'sdk-in-browsers',
    'The SDK runs in browsers: outside of ./testing it loads a module of Node.js by import() where it is needed.',
    { path: '^sdk/src/', pathNot: [tests, '^sdk/src/testing/'] },
    { dependencyTypes: ['core'], dynamic: false },
  ),
];

export interface LayersReport {
  /** How many modules were read. */
  readonly modules: number;
  readonly violations: readonly { readonly rule: string; readonly from: string; readonly to: string }[];
}

/** Whether the guide draws these rows and no others, in their order. */
function isDrawn(guide: string): boolean {
  const drawing = /^ *features +([\s\S]*?)\n *platform /m.exec(guide)?.[1] ?? '';
  const drawn = drawing.split('\n').map((line) => line.trim());
  return drawn.join('\n') === rows.map((row) => row.join(' ')).join('\n');
}

/** Holds the sources below this folder to the rules. */
export async function checkLayers(baseDir: string): Promise<LayersReport> {
  const roots = ['server/src', 'sdk/src'];
  const { output } = await cruise(roots, {
    baseDir,
    ruleSet: { forbidden },
    validate: true,
    parser: 'swc',
    doNotFollow: { path: 'node_modules' },
  });
  if (typeof output === 'string') throw new Error(output);
  return {
    modules: output.modules.filter(({ source }) => roots.some((root) => source.startsWith(`${root}/`))).length,
    violations: output.summary.violations.map(({ rule, from, to, cycle }) => ({
      rule: rule.name,
      from,
      to: cycle?.map(({ name }) => name).join(' → ') ?? to,
    })),
  };
}

if (import.meta.main) {
  const { modules, violations } = await checkLayers(process.cwd());
  // One import upward closes many circles: they would hide it.
  const others = violations.filter(({ rule }) => rule !== 'no-circles');
  for (const { rule, from, to } of others.length > 0 ? others : violations) {
    const reason = forbidden.find(({ name }) => name === rule)?.comment;
    console.error(`${from}\n  imports ${to}\n  ${rule}: ${reason}\n`);
  }
  if (others.length > 0 && others.length < violations.length)
    console.error(`${violations.length - others.length} circles are shown once these are gone.\n`);
  console.log(`${violations.length} forbidden imports in ${modules} modules.`);
  if (modules < fewestModules) console.error(`Fewer than ${fewestModules} modules were read: the check is broken.`);
  const stale = guides.filter((file) => !isDrawn(readFileSync(file, 'utf8')));
  for (const file of stale) console.error(`${file} must draw the rows of features as scripts/layers.ts has them.`);
  if (violations.length > 0 || stale.length > 0 || modules < fewestModules) process.exitCode = 1;
}
