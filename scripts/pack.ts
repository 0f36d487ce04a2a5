/**
 * Builds a package when npm packs it: `node scripts/pack.ts sdk|server`, called by `prepack`, and `--undo` by `postpack`.
 *
 * - The repository runs its TypeScript as it is, but Node.js strips no types inside of node_modules. So a package holds
 *   `dist`: the same modules as JavaScript, at the same places relative to each other.
 * - The exports of the SDK name sources in the repository, and what was built of them in the package. npm packs the
 *   package.json that it finds, so this one differs while npm packs.
 * - The server's package also holds what the server reads while it runs: stylesheets, pictures and guides.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

type Exports = Record<string, string | { readonly types: string; readonly default: string }>;

const root = join(import.meta.dirname, '..');
const [name, undo] = process.argv.slice(2);
if (name !== 'sdk' && name !== 'server') throw new Error('say which package: sdk or server');
const folder = join(root, name);
const dist = join(folder, 'dist');

rmSync(dist, { recursive: true, force: true });
if (undo === '--undo') {
  if (name === 'sdk') writeExports(sourceOf);
} else {
  compile();
  if (name === 'sdk') writeExports(builtOf);
  else for (const file of globSync(['server/src/**/*.{css,svg,webp}', 'docs/*.{md,svg}'], { cwd: root })) copy(file);
}

function compile(): void {
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [compiler, '-p', join(folder, 'tsconfig.pack.json')], { stdio: 'inherit' });
  // The compiler leaves `.ts` in declarations, which not every tool understands.
  for (const file of globSync('**/*.d.ts', { cwd: dist })) {
    const path = join(dist, file);
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, text.replace(/((?:from|import\()\s*['"]\.{1,2}\/[^'"]+)\.ts(?=['"])/g, '$1.js'));
  }
}

function writeExports(map: (target: Exports[string]) => Exports[string]): void {
  const file = join(folder, 'package.json');
  const json: { exports: Exports } = JSON.parse(readFileSync(file, 'utf8'));
  json.exports = Object.fromEntries(Object.entries(json.exports).map(([entry, target]) => [entry, map(target)]));
  // Whoever reads it meanwhile finds the one or the other.
  writeFileSync(`${file}.new`, `${JSON.stringify(json, null, 2)}\n`);
  renameSync(`${file}.new`, file);
}

/** `./src/events/index.ts` → `./dist/events/index.js`, and its types. */
function builtOf(target: Exports[string]): Exports[string] {
  if (typeof target !== 'string' || !target.endsWith('.ts')) return target;
  const built = target.replace('./src/', './dist/').slice(0, -'.ts'.length);
  return { types: `${built}.d.ts`, default: `${built}.js` };
}

function sourceOf(target: Exports[string]): Exports[string] {
  if (typeof target === 'string') return target;
  return target.default.replace('./dist/', './src/').replace(/\.js$/, '.ts');
}

function copy(file: string): void {
  const to = join(dist, file);
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(join(root, file), to);
}
