/** The packages as npm packs them, and projects outside of the repository that use them. */
import { execFile } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';

export const repository = join(import.meta.dirname, '../../..');

/** Runs a program to its end; its output tells why it failed. */
export async function run(command: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}) {
  const options = { cwd, env: { ...process.env, NODE_OPTIONS: '', ...env }, maxBuffer: 1e8, timeout: 300_000 };
  try {
    return await promisify(execFile)(command, args, options);
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`${command} ${args.join(' ')}\n${stdout}\n${stderr}`, { cause: error });
  }
}

export function temporaryFolder(t: Pick<TestContext, 'after'>): string {
  const folder = mkdtempSync(join(tmpdir(), 'namjai-installed-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * Runs `npm pack` for both packages and returns the paths of the tarballs. It packs a copy of the repository, because
 * packing changes package.json for a moment, while other tests import it.
 */
export async function packBoth(folder: string): Promise<{ sdk: string; server: string }> {
  const copy = join(folder, 'repository');
  const wanted = ['package.json', 'tsconfig.json', 'scripts/pack.ts', 'docs', 'sdk', 'server'];
  for (const path of wanted) {
    cpSync(join(repository, path), join(copy, path), {
      recursive: true,
      filter: (from) => !/[\\/](node_modules|dist)$/.test(from),
    });
  }
  symlinkSync(join(repository, 'node_modules'), join(copy, 'node_modules'));
  const pack = async (workspace: string): Promise<string> => {
    await run('npm', ['pack', '--pack-destination', folder], join(copy, workspace));
    const { name, version } = JSON.parse(readFileSync(join(copy, workspace, 'package.json'), 'utf8'));
    return join(folder, `${name.replace('@', '').replace('/', '-')}-${version}.tgz`);
  };
  return { sdk: await pack('sdk'), server: await pack('server') };
}

/**
 * A project with both packages in node_modules, without a network: the dependencies that the server declares, and no
 * others, are links to those of the repository.
 */
export async function layOutProject(folder: string, tarballs: { sdk: string; server: string }): Promise<string> {
  const project = join(folder, 'project');
  const modules = join(project, 'node_modules');
  for (const [name, tarball] of [
    ['@namjai/sdk', tarballs.sdk],
    ['namjai', tarballs.server],
  ] as const) {
    mkdirSync(join(modules, name), { recursive: true });
    await run('tar', ['xzf', tarball, '--strip-components=1', '-C', join(modules, name)], folder);
  }
  const { dependencies } = JSON.parse(readFileSync(join(modules, 'namjai/package.json'), 'utf8'));
  for (const name of [...Object.keys(dependencies), '@types/node']) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(repository, 'node_modules', name), join(modules, name));
  }
  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }\n');
  copyUses(project);
  return project;
}

/** The program that uses the packages, as TypeScript. */
export function copyUses(project: string): void {
  for (const name of ['use.ts', 'journey.ts']) cpSync(join(import.meta.dirname, name), join(project, name));
}

export const moduleResolutions = ['node16', 'nodenext', 'bundler'] as const;

/** Compiles the program strictly, the package's own declarations included, into a folder of its own. */
export async function compile(
  project: string,
  moduleResolution: (typeof moduleResolutions)[number],
  compiler: string,
): Promise<string> {
  const config = join(project, `tsconfig.${moduleResolution}.json`);
  const outDir = join(project, `out-${moduleResolution}`);
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: moduleResolution !== 'nodenext',
    target: 'es2022',
    lib: ['es2022', 'dom', 'dom.iterable', 'dom.asynciterable'],
    types: ['node'],
    module: moduleResolution === 'bundler' ? 'esnext' : moduleResolution,
    moduleResolution,
    outDir,
  };
  writeFileSync(config, JSON.stringify({ compilerOptions, files: ['journey.ts', 'use.ts'] }));
  await run(process.execPath, [compiler, '-p', config], project);
  return outDir;
}

/** Browsers and workers have no types of Node.js. */
export async function compileForWeb(project: string, compiler: string): Promise<void> {
  const entries = ['@namjai/sdk', '@namjai/sdk/events', '@namjai/sdk/oauth', '@namjai/sdk/webhooks'];
  writeFileSync(join(project, 'web.ts'), entries.map((name) => `export * from '${name}';\n`).join(''));
  const config = join(project, 'tsconfig.web.json');
  const lib = ['es2022', 'dom', 'dom.iterable'];
  const compilerOptions = { strict: true, skipLibCheck: false, noEmit: true, lib, types: [], module: 'nodenext' };
  writeFileSync(config, JSON.stringify({ compilerOptions, files: ['web.ts'] }));
  await run(process.execPath, [compiler, '-p', config], project);
}

export const filesOf = (project: string, name: string): string[] =>
  globSync('**/*', { cwd: join(project, 'node_modules', name), exclude: (path) => path === 'node_modules' }).sort();
