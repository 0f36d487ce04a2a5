import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { withTables } from '../../scripts/docs-tables.ts';
import { sdkTypes } from '../../scripts/sdk-types.ts';
import { until } from '../../sdk/test/until.ts';
import { renderMarkdown } from '../src/features/docs/markdown.ts';
import { freePort, startServer } from './server-process.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const papers = globSync(['*.md', 'docs/**/*.md', 'sdk/*.md'], { cwd: root });
const read = (file: string) => readFileSync(join(root, file), 'utf8');

test('the guides’ tables of errors and settings are those of the code', () => {
  const tabled = papers.filter((file) => read(file).includes('<!-- table: '));
  assert.ok(tabled.includes('docs/errors.md') && tabled.includes('docs/operations.md'), tabled.join());
  for (const file of tabled)
    assert.equal(read(file), withTables(read(file)), `${file} is out of date: npm run generate`);
});

test('the SDK’s types are those of the API document', () => {
  const types = sdkTypes(JSON.parse(read('openapi.json')));
  assert.equal(read('sdk/src/api-types.ts'), types, 'sdk/src/api-types.ts is out of date: npm run generate');
});

test('links between the papers lead to files and headings that exist', () => {
  assert.ok(papers.length >= 12, papers.join());
  const broken: string[] = [];
  for (const file of papers) {
    const text = read(file).replace(/```[\s\S]*?```/g, '');
    for (const [, href = ''] of text.matchAll(/\]\(([^()\s]+)\)/g)) {
      if (/^(https:\/\/|\/docs$)/.test(href)) continue;
      const [path = '', fragment] = href.split('#');
      const target = path === '' ? file : normalize(join(dirname(file), path));
      const found = existsSync(join(root, target));
      if (!found || (fragment && !renderMarkdown(read(target)).headings.some(({ id }) => id === fragment)))
        broken.push(`${file}: ${href}`);
    }
  }
  assert.deepEqual(broken, []);
});

test('the papers lead to every file of ops/, and to none that is not there', () => {
  const named = new Set(papers.flatMap((file) => read(file).match(/(?<![\w/])ops\/[\w./-]*\w/g) ?? []));
  const files = globSync('ops/**/*.*', { cwd: root }).concat('ops/caddy/Caddyfile');
  for (const file of named) assert.ok(existsSync(join(root, file)), file);
  for (const file of files) assert.ok(named.has(file), `no paper names ${file}`);
});

/** Pastes the shell lines of a paper beside a running server, and gives back what they print until it matches `last`. */
async function paste(t: TestContext, file: string, last: RegExp): Promise<string> {
  const blocks = [...read(file).matchAll(/```sh(?: sample .*)?\n([\s\S]*?)```/g)].map(([, block = '']) => block);
  const lines = blocks.filter((block) => !block.startsWith('npm ci')).join('\n');
  const folder = temporaryDirectory(t);
  const database = { DATABASE_URL: `sqlite:${join(folder, 'data', 'namjai.db')}` };
  const server = await startServer({ env: { ...database, WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' } });
  t.after(() => server.kill());
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, PORT: new URL(server.url).port, ...database };
  const script = lines
    .replaceAll('http://localhost:8080', server.url)
    .replace(packLines, linkLines(join(folder, 'app')))
    .replace(/127\.0\.0\.1:3000|(?<=listen\()3000/g, portOf(await freePort()));
  const shell = spawn('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  t.after(() => shell.pid && endGroup(shell.pid));
  let output = '';
  for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (chunk) => (output += chunk));
  const [code] = await once(shell, 'exit');
  assert.equal(code, 0, output);
  await until(
    () => `${file} prints ${last}: ${output}`,
    () => last.test(output),
  );
  return output;
}

/** In place of these, which `sdk/test/installed.test.ts` tries on a copy of the repository. */
const packLines = /^mkdir .* npm pack -w sdk .*\n.* npm install .*\.tgz$/m;
const linkLines = (app: string) => `mkdir -p ${app}/node_modules/@namjai && cd ${app}
ln -s ${join(root, 'sdk')} node_modules/@namjai/sdk`;

const portOf = (port: number) => (match: string) => match.replace('3000', String(port));

/** Ends what the lines left running in the background. */
function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

describe('shell lines of the papers', { concurrency: true }, () => {
  test('the README’s first API call works as pasted', async (t) => {
    const output = await paste(t, 'README.md', /"all_time"/);
    assert.match(output, /"name":"SOMCHAI"/);
    assert.match(output, /"all_time":\{"total":150.5,"total_minor":15050,"count":1\}/);
    assert.doesNotMatch(output, /"error"/);
  });

  test('the first guide’s lines work as pasted', async (t) => {
    assert.match(read('docs/getting-started.md'), packLines);
    const output = await paste(t, 'docs/getting-started.md', /Webhook: 150.5 baht from SOMCHAI/);
    assert.match(output, /"username":"mali","display_name":"Mali มะลิ"/);
    assert.match(output, /"data":\[\{"id":"tip_/);
    assert.match(output, /"count":1/);
    assert.doesNotMatch(output, /"error"/);
  });
});
