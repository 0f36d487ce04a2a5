/**
 * The packages as people install them: packed by npm, unpacked in a project outside of the repository, and used from
 * JavaScript, strict TypeScript and a browser bundle, against the server of the package. `npm run proof -- installed`
 * installs them by npm, and uses them from each runtime that npm has.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { freePort } from '../../server/test/free-port.ts';
import { installGlobally, useAsNobody } from './installed/everybody.ts';
import {
  compile,
  compileForWeb,
  filesOf,
  layOutProject,
  moduleResolutions,
  packBoth,
  repository,
  run,
  temporaryFolder,
} from './installed/packages.ts';
import { installRuntimes, runtimes } from './installed/runtimes.ts';
import { rounds } from './rounds.ts';
import { until } from './until.ts';

const compiler = join(repository, 'node_modules/typescript/bin/tsc');

/** What the program prints, whatever runs it. */
const expected = {
  me: true,
  once: true,
  refused: 'validation_failed',
  statuses: [204, 204, 400],
  handled: 1,
  verified: 'tip.created',
  wrong: 'no_matching_signature',
  sequences: [1, 2, 3],
  live: 'resumed',
  refreshes: 1,
  authorize: '/oauth/authorize',
};

function check(stdout: string): number {
  const { readyMs, ...result } = JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
  assert.deepEqual(result, expected);
  return readyMs;
}

/** The Node.js that npm runs on, which is often older than that of the repository, if the SDK is for it. */
async function otherNode(): Promise<string> {
  const node = process.env.npm_node_execpath ?? process.execPath;
  const { stdout } = await run(node, ['--version'], repository);
  return Number.parseInt(stdout.slice(1), 10) >= 20 ? node : process.execPath;
}

test('packed, the SDK and the server work outside of the repository', async (t) => {
  const folder = temporaryFolder(t);
  const tarballs = await packBoth(folder);
  const project = await layOutProject(folder, tarballs);

  await t.test('the packages hold JavaScript, without tests', () => {
    for (const name of ['@namjai/sdk', 'namjai']) {
      const files = filesOf(project, name);
      assert.ok(files.includes('README.md') && files.includes('LICENSE'), name);
      assert.deepEqual(
        files.filter((file) => /\.test\.|(?<!\.d)\.ts$|^src|fixtures/.test(file)),
        [],
      );
    }
  });

  await t.test('strict TypeScript accepts the declarations', async () => {
    for (const resolution of moduleResolutions) await compile(project, resolution, compiler);
    await compileForWeb(project, compiler);
  });

  await t.test('an app calls, refreshes, follows events and verifies a webhook', async (t) => {
    const node = await otherNode();
    const journey = join(project, 'out-bundler/journey.js');
    const { stdout } = await run(node, [journey], project, { NAMJAI_NODE: process.execPath });
    const { stdout: version } = await run(node, ['--version'], project);
    t.diagnostic(`on ${version.trim()}; the server was ready after ${check(stdout)} ms`);
  });

  await t.test('so does a bundle for browsers', async (t) => {
    const bundle = async (source: string, name: string) => {
      const outfile = join(project, name);
      const stdin = { contents: source, resolveDir: project, loader: 'ts' as const };
      const options = { bundle: true, minify: true, format: 'esm', platform: 'browser' } as const;
      await build({ ...options, stdin, outfile, logLevel: 'silent' });
      return { outfile, bytes: readFileSync(outfile) };
    };
    const { outfile } = await bundle(`export * from './use.ts'`, 'bundle.js');
    check((await run(process.execPath, [join(project, 'out-node16/journey.js'), outfile], project)).stdout);

    for (const entry of ['', '/oauth', '/events', '/webhooks']) {
      const { bytes } = await bundle(`export * from '@namjai/sdk${entry}'`, 'entry.js');
      t.diagnostic(`@namjai/sdk${entry}: ${bytes.length} bytes minified, ${gzipSync(bytes).length} compressed`);
    }
    const one = await bundle(
      `import { verifyWebhook } from '@namjai/sdk/webhooks'; console.log(verifyWebhook)`,
      'one.js',
    );
    assert.doesNotMatch(String(one.bytes), /createWebhookHandler|handler is slower|maxBodyBytes/);
  });

  await t.test('without the server, testing says what to install', async () => {
    const alone = join(folder, 'alone');
    mkdirSync(join(alone, 'node_modules/@namjai'), { recursive: true });
    renameSync(join(project, 'node_modules/@namjai/sdk'), join(alone, 'node_modules/@namjai/sdk'));
    const start = `import('@namjai/sdk/testing').then(({ startNamjai }) => startNamjai())`;
    await assert.rejects(run(process.execPath, ['-e', start], alone), /npm install --save-dev namjai/);
    renameSync(join(alone, 'node_modules/@namjai/sdk'), join(project, 'node_modules/@namjai/sdk'));
  });

  await t.test('the command line serves pages, guides and the overlay', (t) => checkServer(t, project));

  await t.test('installed for everybody, it runs anywhere and keeps its data in a folder of the user', async (t) => {
    const prefix = await installGlobally(folder, tarballs.server);
    if (prefix === undefined) return t.skip('npm cannot be reached');
    const { version } = JSON.parse(readFileSync(join(repository, 'server/package.json'), 'utf8'));
    await useAsNobody(t, folder, prefix, version);
  });
});

async function checkServer(t: { after(end: () => Promise<void>): void }, project: string): Promise<void> {
  const namjai = join(project, 'node_modules/namjai/bin/namjai.js');
  const port = String(await freePort());
  const env = { PORT: port, DATABASE_URL: `sqlite:${join(project, 'namjai.db')}`, LOG_LEVEL: 'error' };
  const command = async (...args: string[]) =>
    (await run(process.execPath, [namjai, ...args], project, env)).stdout.trim();
  assert.match(await command('--help'), /^Usage: namjai COMMAND/);

  const child: ChildProcess = spawn(process.execPath, [namjai, 'serve'], {
    cwd: project,
    env: { PATH: process.env.PATH, ...env },
    stdio: 'ignore',
  });
  t.after(async () => {
    const gone = once(child, 'exit');
    if (child.exitCode === null && child.kill('SIGINT')) await gone;
  });
  const get = (path: string) => fetch(`http://localhost:${port}${path}`);
  await until('the server is ready', async () => (await get('/readyz').catch(() => undefined))?.ok);

  const creator = JSON.parse(await command('--json', 'creator', 'add', '--username', 'mali'));
  assert.equal(creator.username, 'mali');
  const found = new Set<string>();
  for (const path of ['/', '/docs', '/docs/events', '/login', '/openapi.json', '/overlay/worker.js']) {
    const response = await get(path);
    assert.equal(response.status, 200, path);
    for (const asset of (await response.text()).match(/\/assets\/[^"')]+/g) ?? []) found.add(asset);
  }
  const [, version] = [...found][0]?.split('/assets/') ?? [];
  // The pages of OBS have a secret address; what they load has not.
  found.add(`/assets/${version?.split('/')[0]}/server/src/features/overlay/browser/overlay.js`);
  // A set takes what is added while it is read: modules bring what they import, stylesheets their fonts.
  for (const asset of found) {
    const response = await get(asset);
    assert.equal(response.status, 200, asset);
    assert.doesNotMatch(asset, /\.ts$/);
    if (!/\.(js|css)$/.test(asset)) continue;
    for (const [, path = ''] of (await response.text()).matchAll(/(?:from |import |url\()["'](\.[^"']+)["']/g))
      found.add(new URL(path, `http://localhost${asset}`).pathname);
  }
  for (const part of ['/sdk/src/events/connect.js', '.woff2', '/enhance.js'])
    assert.ok(
      [...found].some((asset) => asset.endsWith(part)),
      part,
    );
}

// A round is a runtime; npm test has none of these, which need a network.
const chosen = runtimes.slice(0, rounds(0));
test('installed by npm, the SDK works in each runtime', { skip: chosen.length === 0 && 'a proof' }, async (t) => {
  const folder = temporaryFolder(t);
  const tarballs = await packBoth(folder);
  const project = await installRuntimes(folder, tarballs, chosen);
  const oldCompiler = join(project, 'node_modules/typescript/bin/tsc');
  await t.test('an older compiler accepts the declarations', async () => {
    for (const resolution of moduleResolutions) await compile(project, resolution, oldCompiler);
    await compileForWeb(project, oldCompiler);
  });
  await t.test('where the Node.js of the system is too old, the server brings its own', async () => {
    const old = join(project, 'node_modules/node20/bin');
    const prefix = await installGlobally(folder, tarballs.server, `${old}:${process.env.PATH}`);
    assert.ok(prefix, 'npm can be reached');
    const { stdout } = await run(join(prefix, 'bin/namjai'), ['--version'], folder, { PATH: `${old}:/usr/bin:/bin` });
    assert.match(stdout, /^namjai \d/);
  });
  for (const { name, command } of chosen) {
    await t.test(name, async (t) => {
      const [program = '', ...args] = command(project);
      const journey = join(project, 'out-nodenext/journey.js');
      const { stdout } = await run(program, [...args, journey], project, { NAMJAI_NODE: process.execPath });
      t.diagnostic(`the server was ready after ${check(stdout)} ms`);
    });
  }
});
