#!/usr/bin/env node
// Plain JavaScript, so that a Node.js too old to read the rest can still say so.
if (Number.parseInt(process.versions.node, 10) < 24) {
  console.error(
    `Namjai needs Node.js 24 or newer; this is ${process.version}. In the repository, "npm start" brings its own.`,
  );
  process.exit(1);
}
const { main } = await import('../src/cli/main.ts');
await main(process.argv.slice(2), process.env);
