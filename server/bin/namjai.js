#!/usr/bin/env node
import { fileURLToPath } from 'node:url';

// Plain JavaScript, so that a Node.js too old to read the rest can still say so.
if (Number.parseInt(process.versions.node, 10) < 24) {
  console.error(
    `Namjai needs Node.js 24 or newer; this is ${process.version}. In the repository, "npm start" brings its own.`,
  );
  process.exit(1);
}
// Half of a short command's time goes into reading the sources: what was compiled is kept beside them, where only
// whoever installed the server can write. Where nobody can, nothing is kept.
const { enableCompileCache } = await import('node:module');
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/namjai', import.meta.url)));
const { main } = await import('../src/cli/main.ts');
await main(process.argv.slice(2), process.env);
