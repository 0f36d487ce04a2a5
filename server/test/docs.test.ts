import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { sdkTypes } from '../../scripts/sdk-types.ts';
import { renderMarkdown } from '../src/features/docs/markdown.ts';
import { withTables } from './docs-tables.ts';
import { startServer } from './server-process.ts';
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

/** Pastes the shell lines of a paper beside a running server, and gives back what they print. */
async function paste(t: TestContext, file: string): Promise<string> {
  const blocks = [...read(file).matchAll(/```sh(?: sample .*)?\n([\s\S]*?)```/g)].map(([, block = '']) => block);
  const lines = blocks.filter((block) => !block.startsWith('npm ci')).join('\n');
  const database = { DATABASE_URL: `sqlite:${join(temporaryDirectory(t), 'data', 'namjai.db')}` };
  const server = await startServer({ env: database });
  t.after(() => server.kill());
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, PORT: new URL(server.url).port, ...database };
  const script = lines.replaceAll('http://localhost:8080', server.url);
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], { cwd: root, env });
  return stdout;
}

describe('shell lines of the papers', { concurrency: true }, () => {
  test('the README’s first API call works as pasted', async (t) => {
    const output = await paste(t, 'README.md');
    assert.match(output, /"name":"SOMCHAI"/);
    assert.match(output, /"all_time":\{"total":150.5,"total_minor":15050,"count":1\}/);
    assert.doesNotMatch(output, /"error"/);
  });

  test('the first guide’s lines work as pasted', async (t) => {
    const output = await paste(t, 'docs/getting-started.md');
    assert.match(output, /"username":"mali","display_name":"Mali มะลิ"/);
    assert.match(output, /"data":\[\{"id":"tip_/);
    assert.match(output, /"count":1/);
    assert.doesNotMatch(output, /"error"/);
  });
});
