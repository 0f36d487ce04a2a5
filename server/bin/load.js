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
  const { enableCompileCache, registerHooks } = await import('node:module');
  // Compiling the sources takes half of a short command's time. The compiled code is kept beside the sources, where only
  // the user who installed the server can write. If that folder is read-only, nothing is kept.
  enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/namjai', import.meta.url)));
  // The package holds JavaScript (scripts/pack.ts), the repository the sources.
  const { folder, extension, format } = existsSync(new URL('../src', import.meta.url))
    ? { folder: new URL('../src/', import.meta.url), extension: '.ts', format: 'module-typescript' }
    : { folder: new URL('../dist/server/src/', import.meta.url), extension: '.js', format: 'module' };
  // Thousands of imports name a file of ours, whole. Node.js would look for each in the file system, which takes a tenth
  // of a second.
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const isOurs = specifier.startsWith('.') && context.parentURL?.startsWith(folder.href);
      if (!isOurs || !specifier.endsWith(extension)) return nextResolve(specifier, context);
      return { url: new URL(specifier, context.parentURL).href, format, shortCircuit: true };
    },
  });
  return import(new URL(path + extension, folder).href);
}
