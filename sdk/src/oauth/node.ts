/**
 * The modules of Node.js (also in Deno and Bun) that `fileStore` needs. Loaded at its first use, by names that bundlers
 * do not follow: in a browser everything else of this entry works.
 */
export interface NodeModules {
  readonly fs: typeof import('node:fs/promises');
  readonly path: typeof import('node:path');
  readonly os: typeof import('node:os');
  readonly process: typeof import('node:process');
}

export async function loadNode(): Promise<NodeModules> {
  const load = (name: string) => import(/* webpackIgnore: true */ /* @vite-ignore */ `node:${name}`);
  const [fs, path, os, process] = await Promise.all(['fs/promises', 'path', 'os', 'process'].map(load));
  return { fs, path, os, process };
}
