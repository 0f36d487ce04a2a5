import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { jwtVerify } from 'jose';
import { createSigner, type Signer } from './signer.ts';

const pairs = [0, 1].map(() => generateKeyPairSync('ec', { namedCurve: 'P-256' }));
const [one] = pairs as [(typeof pairs)[number]];
const header = JSON.stringify({ alg: 'ES256', typ: 'at+jwt', kid: 'one' });
const claims = (jti: number) => JSON.stringify({ jti, name: 'น้ำใจ\n' });
const program = new URL('./signer.ts', import.meta.url);
const threadProgram = new URL('./signer-thread.ts', import.meta.url);

async function assertSigned(token: string, jti: number, key: KeyObject): Promise<void> {
  const { payload } = await jwtVerify<{ name: string }>(token, key, { algorithms: ['ES256'], typ: 'at+jwt' });
  assert.deepEqual(payload, { jti, name: 'น้ำใจ\n' });
}

/** Many at once, by one key or several in turn; each must get its own. */
async function signMany(signer: Signer, keys = [one]): Promise<void> {
  const ofToken = (jti: number) => keys[(jti >> 2) % keys.length]!;
  const tokens = await Promise.all(
    Array.from({ length: 40 }, (_, jti) => signer.sign(header, claims(jti), ofToken(jti).privateKey)),
  );
  for (const [jti, token] of tokens.entries()) await assertSigned(token, jti, ofToken(jti).publicKey);
}

/** A signer whose thread is there, and how many messages came from it. */
async function withThread(t: { after(end: () => Promise<void>): void }) {
  let thread: Worker | undefined;
  let ready: Promise<unknown> | undefined;
  const signer = createSigner(() => {
    thread = new Worker(threadProgram);
    ready = once(thread, 'message');
    return thread;
  });
  t.after(() => signer.close());
  await signMany(signer);
  assert(thread, 'many at once start the thread, and do not wait for it');
  await ready;
  let answers = 0;
  thread.on('message', () => {
    answers += 1;
  });
  return { signer, thread, answers: () => answers };
}

test('what is wanted in one turn is signed by the thread in a few messages, each with its own key', async (t) => {
  const { signer, answers } = await withThread(t);
  await signMany(signer);
  assert.equal(answers(), 5);
  await signMany(signer, pairs);
  assert.equal(answers(), 15);
  await signMany(signer);
});

test('a signature that is wanted alone is made in place, unless the thread is at work anyway', async (t) => {
  const { signer, answers } = await withThread(t);
  const signOne = async (jti: number) =>
    assertSigned(await signer.sign(header, claims(jti), one.privateKey), jti, one.publicKey);
  for (let jti = 0; jti < 3; jti++) await signOne(jti);
  assert.equal(answers(), 0);
  const many = signMany(signer);
  // Once these have been sent, and before the event loop can hear of the thread.
  await new Promise<void>((resolve) => queueMicrotask(() => process.nextTick(resolve)));
  await Promise.all([many, signOne(3)]);
  assert.equal(answers(), 6);
});

test('a thread that dies leaves nobody waiting: what it had, and all that follows, is signed in place', async (t) => {
  const { signer, thread, answers } = await withThread(t);
  const under = signMany(signer, pairs);
  await Promise.all([thread.terminate(), under]);
  await signMany(signer);
  assert(answers() < 10, 'the thread was gone before it was done');
});

test('where no thread can be started everything is signed in place', async () => {
  const signer = createSigner(() => {
    throw new Error('no more threads');
  });
  for (let i = 0; i < 2; i++) await signMany(signer);
  await signer.close();
});

test('a key that cannot sign is an error of its own caller', async (t) => {
  const { signer } = await withThread(t);
  const wrong = generateKeyPairSync('x25519').privateKey;
  const [bad, alsoBad] = [0, 1].map((jti) => signer.sign(header, claims(jti), wrong));
  const good = signMany(signer);
  await assert.rejects(bad!);
  await assert.rejects(alsoBad!);
  await good;
});

test('close ends the thread, what was wanted before it is still signed, and so is what comes after', async (t) => {
  const { signer, thread } = await withThread(t);
  const under = signMany(signer);
  await new Promise((resolve) => process.nextTick(resolve));
  await Promise.all([signer.close(), once(thread, 'exit'), under]);
  await signMany(signer);
});

test('a thread at rest keeps no process alive; one that signs does', () => {
  for (const [last, said] of [
    ['', ''],
    ['console.log((await many()).length);', '400\n'],
  ]) {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [
        '--input-type=module',
        '--eval',
        `import { generateKeyPairSync } from 'node:crypto';
         import { once } from 'node:events';
         import { Worker } from 'node:worker_threads';
         import { createSigner } from ${JSON.stringify(program.href)};
         const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
         const claims = Array.from({ length: 400 }, (_, jti) => JSON.stringify({ jti }));
         let ready;
         const threadProgram = new URL(${JSON.stringify(threadProgram.href)});
         const signer = createSigner(() => {
           const thread = new Worker(threadProgram, { execArgv: [] });
           ready = once(thread, 'message');
           return thread;
         });
         const many = () => Promise.all(claims.map((one) => signer.sign('{}', one, privateKey)));
         await many();
         const alive = setInterval(() => {}, 1000);
         await ready;
         clearInterval(alive);
         ${last}`,
      ],
      { encoding: 'utf8', timeout: 20_000 },
    );
    assert.deepEqual([status, stdout, stderr], [0, said, '']);
  }
});
