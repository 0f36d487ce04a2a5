import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Imports a module of the server by its path below `src`, without its extension. */
export async function load(path) {
  // Plain JavaScript, so that a Node.js too old to read the rest can still say so.
  if (Number.parseInt(process.versions.node, 10) < 24) {
    const script = fileURLToPath(new URL('bring-node.js', import.meta.url));
    console.error(
      existsSync(new URL('../src', import.meta.url))
        ? `Namjai needs Node.js 24 or newer; this is ${process.version}. In the repository, "npm start" brings its own.`
        : `Namjai needs Node.js 24 or newer; this is ${process.version}. Install one, or run: node ${script}`,
    );
    process.exit(1);
  }
  // Compiling the sources takes half of a short command's time. The compiled code is kept beside the sources, where only
  // the user who installed the server can write. If that folder is read-only, nothing is kept.
  const { enableCompileCache } = await import('node:module');
  enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/namjai', import.meta.url)));
  // The package holds JavaScript (scripts/pack.ts), the repository the sources.
  const source = new URL(`../src/${path}.ts`, import.meta.url);
  return import(existsSync(source) ? source.href : `../dist/server/src/${path}.js`);
}
