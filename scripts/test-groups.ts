/**
 * Puts test files together into groups, each of which runs in one process: the modules are loaded once, and compiled
 * code stays warm, which halves the processor time of a file that tests in its own process.
 */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Where files run together, and how many. Those of other folders start programs of their own, and would gain little. */
const together = [
  { files: /^server\/test\/browser\//, size: 5 },
  { files: /^server\/src\//, size: 16 },
];
/** They measure the memory or the loaded modules of their own process. */
const alone = [
  /^server\/src\/features\/sockets\/(slow-readers|strangers)\.test\.ts$/,
  /^server\/src\/features\/connections\/socket-io\/strangers\.test\.ts$/,
];

/** The files to run: in place of files that may run together, files that import them, until the endings are called. */
export function groupFiles(files: readonly string[], endings: (() => void)[]): string[] {
  const directory = mkdtempSync(join(tmpdir(), 'namjai-test-groups-'));
  endings.push(() => rmSync(directory, { recursive: true }));
  const separate = files.filter((file) => sizeOfGroup(file) === 1);
  const groups = together.flatMap(({ size }) =>
    deal(
      files.filter((file) => sizeOfGroup(file) === size),
      size,
    ),
  );
  const written = groups.map((members, index) => {
    const path = join(directory, `group-${index + 1}.test.mjs`);
    writeFileSync(path, members.map((file) => `import '${pathToFileURL(resolve(file)).href}';\n`).join(''));
    return path;
  });
  return [...separate, ...written];
}

function sizeOfGroup(file: string): number {
  if (alone.some((pattern) => pattern.test(file))) return 1;
  return together.find(({ files }) => files.test(file))?.size ?? 1;
}

/** Large and small files alike to each group, so that all take about as long. */
function deal(files: string[], size: number): string[][] {
  const groups = Math.ceil(files.length / size);
  const bySize = files.sort((a, b) => statSync(b).size - statSync(a).size || a.localeCompare(b));
  return Array.from({ length: groups }, (_, group) => bySize.filter((_, index) => index % groups === group));
}
