import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { until } from '../../../../../sdk/test/until.ts';
import { buildApp, onNodes, type TestApp } from '../../../../test/build-app.ts';
import { basic, makePair, makePublicApp } from '../../../../test/factories.ts';
import { freePort } from '../../../../test/free-port.ts';
import { approve, challengeOf, verifier } from '../../../../test/oauth.ts';
import { recordTips, socketToken } from '../../../../test/sockets.ts';
import { temporaryDirectory } from '../../../../test/temporary-directory.ts';
import { signedInVisitor } from '../../../../test/visitor.ts';
import { readGuides } from '../guides.ts';
import { type ApiDocument, byTag, type Operation, operationsOf } from '../openapi.ts';
import { tagPath } from '../paths.ts';

/** What is shown is run: the texts are taken from the pages, as a reader would. */
interface Shown {
  readonly page: string;
  readonly operationId: string;
  readonly language: string;
  readonly text: string;
}

const figure = /<div data-language="(\w+)">[\s\S]*?<code translate="no">([\s\S]*?)<\/code>/g;
const plain = (text: string) => text.replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)));

async function samplesOn(server: TestApp, page: string): Promise<Shown[]> {
  const { body } = await server.http.inject(page);
  const blocks = body.split('<div class="sample" data-operation="').slice(1);
  return blocks.flatMap((block) => {
    const [operationId = ''] = /^\w+/.exec(block) ?? [];
    return [...block.matchAll(figure)].map(([, language = '', text = '']) => ({
      ...{ page, operationId, language },
      text: plain(text),
    }));
  });
}

/** Values for the variables of a sample, of a creator and an app that no other sample uses. */
async function worldFor(server: TestApp, { text }: Shown) {
  const { runtime, http } = server;
  // Who names a client without its secret is a public app.
  const isPublic = /CLIENT_ID/.test(text) && !/CLIENT_SECRET/.test(text);
  const pair = { ...(await makePair(runtime)), ...(isPublic ? await makePublicApp(runtime) : {}) };
  const tell = () => recordTips(server, pair.creatorId, 1);
  await tell();
  const post = async (url: string, headers: Record<string, string>, payload: object) =>
    (await http.inject({ method: 'POST', url, headers, payload })).json();
  const makers: Record<string, (made: Record<string, string>) => string | Promise<string>> = {
    TOKEN: () => pair.accessToken,
    SOCKET_TOKEN: () => socketToken(server, pair),
    REFRESH_TOKEN: () => pair.refreshToken,
    CLIENT_ID: () => pair.clientId,
    CLIENT_SECRET: () => pair.clientSecret,
    CODE: () => approve(runtime, pair, pair),
    DEVICE_CODE: async () => {
      const { device_code, user_code } = await post('/v1/oauth/device_authorization', {}, { client_id: pair.clientId });
      const visitor = await signedInVisitor(server, pair.creatorId);
      const { body } = await visitor.post('/device', { user_code });
      const [, request = ''] = /name="request" value="([^"]+)"/.exec(body) ?? [];
      await visitor.post('/device/decision', { request, decision: 'approve' });
      return device_code;
    },
    CODE_CHALLENGE: () => challengeOf(verifier),
    STATE: () => 'a-random-value',
    IDEMPOTENCY_KEY: () => 'another-random-value',
    ENCRYPTION_KEY: () => randomBytes(32).toString('base64'),
    TIP_ID: async () => (await post('/v1/tips', pair.headers, { amount: 1, name: 'MALI' })).id,
    WEBHOOK_ID: async () => (await post('/v1/webhooks', basic(pair), { url: 'https://app.example/hook' })).id,
    DELIVERY_ID: async ({ WEBHOOK_ID }) => (await post(`/v1/webhooks/${WEBHOOK_ID}/ping`, basic(pair), {})).id,
  };
  const values: Record<string, string> = {};
  for (const [name, make] of Object.entries(makers))
    if (new RegExp(`\\b${name}\\b`).test(text)) values[name] = await make(values);
  for (const [, name = ''] of text.matchAll(/(?:\$|environ\["|\{ |, )([A-Z][A-Z]+(?:_[A-Z]+)*)\b(?=["} ,:$/\\\n]|$)/g))
    assert.ok(name in values, `the test of the samples has no value for ${name}`);
  return { values, tell };
}

/** A file with the SDK beside it, as an app has it. */
function fileOf(folder: string, name: string, text: string): string {
  mkdirSync(join(folder, 'node_modules/@namjai'), { recursive: true });
  symlinkSync(fileURLToPath(new URL('../../../../../sdk', import.meta.url)), join(folder, 'node_modules/@namjai/sdk'));
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

const commands: Record<string, (text: string, folder: string) => [program: string, ...args: string[]]> = {
  curl: (text) => ['sh', '-c', `${text} -sS -w '\n%{http_code}\n'`],
  JavaScript: (text, folder) => [process.execPath, fileOf(folder, 'sample.mjs', text)],
  Python: (text, folder) => ['python3', fileOf(folder, 'sample.py', text)],
};

const isEndless = ({ operationId }: Shown): boolean =>
  ['openSocket', 'streamEvents', 'listenToWebhooks'].includes(operationId);

/** Runs a sample to its end, or, if it has none, until it has printed what happens meanwhile. */
async function run(t: TestContext, server: TestApp, shown: Shown): Promise<string> {
  // An address may ask for ten codes of devices a minute.
  if (shown.text.includes('device')) server.clock.advance(7000);
  const folder = temporaryDirectory(t);
  const { values, tell } = await worldFor(server, shown);
  const [program, ...args] = commands[shown.language]?.(shown.text, folder) ?? assert.fail(shown.language);
  const child = spawn(program, args, {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...values },
    cwd: folder,
    detached: true,
  });
  let [output, ended] = ['', false];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  child.on('close', () => {
    ended = true;
  });
  t.after(() => void (ended || process.kill(-(child.pid ?? assert.fail()), 'SIGKILL')));
  await until(
    () => `${shown.operationId} in ${shown.language} has ended, or told of an event: ${output}`,
    async () => {
      if (ended || (isEndless(shown) && /tip\.created|"ready"/.test(output))) return true;
      if (isEndless(shown)) await tell();
      return false;
    },
  );
  assert.ok(isEndless(shown) ? !ended : child.exitCode === 0, `${shown.operationId}: ${output}\n${shown.text}`);
  return output;
}

const skipped = (language: string): string | false => {
  if (onNodes) return 'the same in both shapes';
  return language === 'Python' && spawnSync('python3', ['--version']).error ? 'no Python on this machine' : false;
};

/** Python has no WebSocket of its own; for the events there is the stream. */
const needsSample = ({ operationId, responses }: Operation, language: string): boolean =>
  language !== 'Python' || !responses['101'] || operationId === 'openSocket';

/** Checks that a sample did what it says. The texts of the SDK and of Python fail by themselves. */
async function check(server: TestApp, shown: Shown, output: string): Promise<void> {
  const { operationId, language, text } = shown;
  const operation = operationsOf(documentOf(server)).find((each) => each.operationId === operationId);
  const successes = Object.keys(operation?.responses ?? {}).filter((status) => Number(status) < 400);
  const words = `${shown.page} ${operationId} in ${language}: ${output}\n${text}`;
  assert.ok(output.trim() !== '' && !output.includes('"error"'), words);
  if (operationId === 'authorize' && language !== 'curl') {
    const { status } = await fetch(output.trim(), { redirect: 'manual' });
    assert.ok(successes.includes(String(status)), words);
  } else if (language === 'curl' || text.includes('response.status')) {
    const [status = ''] = (language === 'curl' ? /\d{3}$/ : /^\d{3}/).exec(output.trim()) ?? [];
    assert.ok(successes.includes(status), words);
  }
}

const documentOf = ({ document }: TestApp) => document() as ApiDocument;

describe('samples', { concurrency: 3 }, () => {
  const endings: (() => unknown)[] = [];
  let server: TestApp;
  let shown: Shown[];

  before(async () => {
    const port = await freePort();
    server = await buildApp(
      { after: (end) => endings.push(() => end?.({} as never, () => {})) },
      { PORT: String(port), WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' },
    );
    await server.http.listen({ port, host: '127.0.0.1' });
    const pages = [
      ...byTag(documentOf(server)).map(({ name }) => tagPath(name)),
      ...(await readGuides()).map(({ name }) => `/docs/${name}`),
    ];
    shown = (await Promise.all(pages.map((page) => samplesOn(server, page)))).flat();
  });
  after(async () => {
    for (const end of endings.reverse()) await end();
  });

  for (const language of Object.keys(commands))
    test(`every ${language} sample of the reference and of the guides works`, {
      skip: skipped(language),
    }, async (t) => {
      const own = shown.filter((each) => each.language === language);
      const without = operationsOf(documentOf(server)).filter(
        (operation) =>
          needsSample(operation, language) &&
          !own.some(
            ({ page, operationId }) => page.startsWith('/docs/reference/') && operationId === operation.operationId,
          ),
      );
      assert.deepEqual(without, [], 'every operation has a sample');
      // A guide may show what the reference shows.
      for (const each of new Map(own.map((sample) => [sample.text, sample])).values()) {
        const output = await run(t, server, each);
        if (!isEndless(each)) await check(server, each, output);
      }
    });
});
