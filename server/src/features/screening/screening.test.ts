import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp, type TestApp } from '../../../test/build-app.ts';
import { makePair, type Pair } from '../../../test/factories.ts';
import { makeManyTips } from '../../../test/many-tips.ts';
import { execute } from '../../../test/sql.ts';
import { nameKey } from './fold.ts';
import { noRules, type RuleList, type Rules } from './rules.ts';

const list = (action: RuleList['action'], ...words: string[]): RuleList => ({
  id: action,
  title: action,
  words,
  except: [],
  match: 'words',
  action,
});

const setRules = ({ runtime }: TestApp, { creatorId }: Pair, rules: Partial<Rules>) =>
  runtime.screening.change(creatorId, () => ({ ...noRules, ...rules }));

async function send({ http }: TestApp, { headers }: Pair, body: object, more: Record<string, string> = {}) {
  const payload = { amount: 10, name: 'SOMCHAI', ...body };
  const answer = await http.inject({ method: 'POST', url: '/v1/tips', headers: { ...headers, ...more }, payload });
  assert.equal(answer.statusCode, 201, answer.body);
  return answer.json();
}

const shownOf = ({ alert: { status, name, message } }: { alert: Record<string, unknown> }) => ({
  status,
  name,
  message,
});

test('lists hide, mask and hold; what was sent stays as it was sent', async (t) => {
  const app = await buildApp(t);
  const pair = await makePair(app.runtime);
  await setRules(app, pair, { lists: [list('hide', 'hideous'), list('mask', 'darn'), list('hold', 'doubtful')] });
  const clean = await send(app, pair, { message: 'fine' });
  assert.deepEqual(shownOf(clean), { status: 'queued', name: 'SOMCHAI', message: 'fine' });
  const hidden = await send(app, pair, { message: 'h1deous thing' });
  assert.deepEqual(shownOf(hidden), { status: 'queued', name: 'SOMCHAI', message: null });
  assert.equal(hidden.message, 'h1deous thing');
  const masked = await send(app, pair, { message: 'oh d.a.r.n it', display_name: 'Mr Darn' });
  assert.deepEqual(shownOf(masked), { status: 'queued', name: 'Mr ****', message: 'oh ******* it' });
  assert.deepEqual([masked.display_name, masked.message], ['Mr Darn', 'oh d.a.r.n it']);
  const held = await send(app, pair, { message: 'darn doubtful' });
  assert.deepEqual(shownOf(held), { status: 'held', name: 'SOMCHAI', message: '**** ********' });
  const badName = await send(app, pair, { display_name: 'Hideous', message: null });
  assert.deepEqual(shownOf(badName), { status: 'queued', name: '*******', message: null });
  const read = await app.http.inject({ url: `/v1/tips/${masked.id}`, headers: pair.headers });
  assert.deepEqual(read.json(), masked);
});

test('links, long numbers, blocked names, everything, and amounts', async (t) => {
  const app = await buildApp(t);
  const pair = await makePair(app.runtime);
  await setRules(app, pair, {
    links: 'mask',
    numbers: 'hide',
    blockedNames: ['Troll'],
    hold: { everything: false, newNames: false, fromMinor: 10_000 },
  });
  assert.equal((await send(app, pair, { message: 'see evil.com now' })).alert.message, 'see ******** now');
  assert.equal((await send(app, pair, { message: 'call 081 234 5678' })).alert.message, null);
  const blocked = await send(app, pair, { name: 'TR0LLL', message: 'hello' });
  assert.deepEqual(shownOf(blocked), { status: 'skipped', name: 'TR0LLL', message: null });
  assert.equal((await send(app, pair, { display_name: 'ＴＲＯＬＬ' })).alert.status, 'skipped');
  assert.equal((await send(app, pair, { amount: 99.99 })).alert.status, 'queued');
  assert.equal((await send(app, pair, { amount: 100 })).alert.status, 'held');
  await setRules(app, pair, { hold: { everything: true, newNames: false, fromMinor: null } });
  assert.equal((await send(app, pair, { amount: 1 })).alert.status, 'held');
  const { all_time } = await app.runtime.tips.stats(pair.creatorId);
  assert.equal(all_time.count, 7, 'all of them count');
});

test('a new name is held until one of its tips is approved; names of earlier tips are known', async (t) => {
  const app = await buildApp(t);
  const pair = await makePair(app.runtime);
  await send(app, pair, { name: 'OLD FRIEND' });
  await setRules(app, pair, { hold: { everything: false, newNames: true, fromMinor: null } });
  assert.equal((await send(app, pair, { name: 'OLD_FRIEND' })).alert.status, 'queued');
  const first = await send(app, pair, { name: 'NEWCOMER' });
  assert.equal(first.alert.status, 'held');
  assert.equal((await send(app, pair, { name: 'NEWCOMER' })).alert.status, 'held', 'not by asking twice');
  await app.runtime.overlays.approve(pair.creatorId, first.id);
  assert.equal((await send(app, pair, { name: 'NEWCOMER' })).alert.status, 'queued');
});

test('a name that was masked is known as it was sent, and one without letters only by itself', async (t) => {
  const app = await buildApp(t);
  const pair = await makePair(app.runtime);
  await setRules(app, pair, { lists: [list('mask', 'darn')] });
  assert.equal((await send(app, pair, { name: 'DARN FAN' })).alert.name, '**** FAN');
  await send(app, pair, { display_name: '𠮷野' });
  const hold = { everything: false, newNames: true, fromMinor: null };
  await setRules(app, pair, { lists: [list('mask', 'darn')], hold });
  assert.equal((await send(app, pair, { name: 'DARN FAN' })).alert.status, 'queued');
  assert.equal((await send(app, pair, { display_name: '𠮷野' })).alert.status, 'queued');
  const heart = await send(app, pair, { name: 'AA', display_name: '♥' });
  await app.runtime.overlays.approve(pair.creatorId, heart.id);
  assert.equal((await send(app, pair, { name: 'AA', display_name: '♥' })).alert.status, 'queued');
  assert.equal((await send(app, pair, { name: 'AA', display_name: '😡' })).alert.status, 'held');
  await setRules(app, pair, { blockedNames: ['😡'] });
  assert.equal((await send(app, pair, { name: 'AA', display_name: '😡' })).alert.status, 'skipped');
  assert.equal((await send(app, pair, { name: 'AA', display_name: '😀' })).alert.status, 'queued');
});

test('a tip that was screened by rules of another version is screened anew, with and without a key', async (t) => {
  const app = await buildApp(t);
  const pair = await makePair(app.runtime);
  await send(app, pair, { message: 'darn' });
  // Another process changes the rules: this one has cached those from before.
  const other = await buildApp(t, app.env);
  await setRules(other, pair, { lists: [list('mask', 'darn')] });
  assert.equal((await send(app, pair, { message: 'darn' })).alert.message, '****');
  await setRules(other, pair, { lists: [list('hide', 'darn')] });
  const key = { 'idempotency-key': 'one' };
  const first = await send(app, pair, { message: 'darn' }, key);
  assert.equal(first.alert.message, null);
  await setRules(other, pair, { lists: [] });
  assert.deepEqual(await send(app, pair, { message: 'darn' }, key), first, 'a repeat gets the first answer');
  const events = await app.runtime.events.after(pair.creatorId, 0, 100);
  assert.deepEqual(
    events.map(({ sequence }) => sequence),
    [1, 2, 3],
    'a refusal leaves nothing behind',
  );
});

test('rules that change while tips are recorded: every tip follows the rules before or after, none old ones', async (t) => {
  const app = await buildApp(t);
  const pair = await makePair(app.runtime);
  const record = () =>
    app.runtime.tips.record({
      creatorId: pair.creatorId,
      app: null,
      amount: 1,
      name: 'SOMCHAI',
      displayName: null,
      message: 'darn',
    });
  let changed = false;
  const results: { changedBefore: boolean; message: string | null }[] = [];
  const tipping = Array.from({ length: 40 }, async () => {
    const changedBefore = changed;
    results.push({ changedBefore, message: (await record()).tip.alert.message });
  });
  const change = setRules(app, pair, { lists: [list('mask', 'darn')] }).then(() => {
    changed = true;
  });
  await Promise.all([...tipping, change]);
  for (let i = 0; i < 10; i++) results.push({ changedBefore: true, message: (await record()).tip.alert.message });
  for (const { changedBefore, message } of results) if (changedBefore) assert.equal(message, '****');
});

test('test alerts are screened on overlays; the alert itself stays as it was sent', async (t) => {
  const app = await buildApp(t);
  const pair = await makePair(app.runtime);
  await setRules(app, pair, { lists: [list('mask', 'darn'), list('hold', 'doubtful')] });
  const post = async (payload: object) =>
    (await app.http.inject({ method: 'POST', url: '/v1/alerts', headers: pair.headers, payload })).json();
  assert.equal((await post({ message: 'darn' })).message, 'darn');
  await post({ message: 'doubtful' });
  await post({ message: 'fine' });
  const events = await app.runtime.events.after(pair.creatorId, 0, 10);
  assert.deepEqual(
    events.map(({ screened }) => screened && JSON.parse(screened)),
    [{ held: false, name: 'น้ำใจ', message: '****' }, { held: true, name: 'น้ำใจ', message: 'doubtful' }, null],
  );
  await assert.rejects(app.runtime.overlays.replay(pair.creatorId, 2), { code: 'not_found' });
});

test('rules that hundreds of tips wait for are compiled once', async (t) => {
  const { runtime } = await buildApp(t);
  const { creatorId } = await makePair(runtime);
  const { screening } = runtime;
  const words = { name: 'SOMCHAI', displayName: null, message: 'hello', amountMinor: 100 };
  const { version } = await screening.screen(creatorId, words);
  await screening.change(creatorId, (rules) => ({ ...rules, blockedNames: ['SOMCHAI'] }));
  const parse = t.mock.method(JSON, 'parse');
  const screened = await Promise.all(Array.from({ length: 100 }, () => screening.screen(creatorId, words, version)));
  const read = parse.mock.calls.filter(({ arguments: [text] }) => String(text).includes('blockedNames'));
  assert.equal(read.length, 1);
  assert.deepEqual(new Set(screened.map(({ status }) => status)), new Set(['blocked']));
});

/** As many words and letters as a creator may have, of characters that few have used before. */
const longList = (): RuleList => {
  const word = (i: number) =>
    String.fromCodePoint(...Array.from({ length: 25 }, (_, k) => 0x4e00 + ((i * 7_919 + k * 104_729) % 20_000)));
  return list('mask', ...Array.from({ length: 1_999 }, (_, i) => word(i)), 'darn');
};

test('security 41: while long rules are compiled others are screened, and whoever needs them waits', async (t) => {
  const app = await buildApp(t);
  const { screening } = app.runtime;
  const [long, short] = [await makePair(app.runtime), await makePair(app.runtime)];
  await setRules(app, long, { lists: [longList()] });
  await setRules(app, short, { lists: [list('mask', 'darn')] });
  const words = { name: 'SOMCHAI', displayName: null, message: 'darn', amountMinor: 100 };
  const order: string[] = [];
  const screen = async (name: string, { creatorId }: Pair) => {
    const { shown } = await screening.screen(creatorId, words);
    order.push(name);
    return shown?.message;
  };
  const shown = await Promise.all([screen('long', long), screen('long', long), screen('short', short)]);
  assert.deepEqual(order, ['short', 'long', 'long']);
  assert.deepEqual(shown, ['****', '****', '****']);
});

test('rules that change while they are compiled: the newest are kept', async (t) => {
  const app = await buildApp(t);
  const { screening } = app.runtime;
  const pair = await makePair(app.runtime);
  const words = { name: 'SOMCHAI', displayName: null, message: 'darn', amountMinor: 100 };
  await setRules(app, pair, { lists: [longList()] });
  const first = screening.screen(pair.creatorId, words);
  await setRules(app, pair, { lists: [list('hide', 'darn')] });
  const second = screening.screen(pair.creatorId, words, 1);
  const { version, shown } = await first;
  assert.equal(shown?.message, version === 1 ? '****' : null);
  assert.deepEqual([(await second).version, (await second).shown?.message], [2, null]);
  assert.equal((await screening.screen(pair.creatorId, words)).version, 2);
  await setRules(app, pair, {});
  assert.equal((await send(app, pair, { message: 'darn' })).alert.message, 'darn');
});

test('security 41: names of earlier tips are stored in batches, all of them before new names are held', async (t) => {
  const app = await buildApp(t);
  const { db, screening } = app.runtime;
  const pair = await makePair(app.runtime);
  await makeManyTips(app.runtime, pair.creatorId, 650);
  const hold = { everything: false, newNames: true, fromMinor: null };
  const written: [string, number][] = [];
  let failAt = 2;
  const write = db.write.bind(db);
  t.mock.method(db, 'write', async (...args: Parameters<typeof write>) => {
    const [{ name }, , names] = args as unknown as [{ name: string }, string, unknown];
    written.push([name, Array.isArray(names) ? names.length : 0]);
    if (written.length === failAt) throw new Error('the process ends here');
    return write(...args);
  });
  await assert.rejects(setRules(app, pair, { hold }), /ends here/);
  assert.equal((await screening.get(pair.creatorId)).hold.newNames, false);
  assert.equal(
    (await screening.screen(pair.creatorId, { name: 'AA', displayName: null, message: null, amountMinor: 1 })).version,
    0,
  );
  failAt = 0;
  written.length = 0;
  await setRules(app, pair, { hold });
  const batches = written.slice(0, -1);
  assert.deepEqual(
    [new Set(batches.map(([name]) => name)), written.at(-1)?.[0]],
    [new Set(['addKnownNames']), 'saveRules'],
  );
  // Some of these names read alike: 6 and 8 are both a b.
  assert.ok(batches.length >= 3 && batches.every(([, names]) => names < 250), JSON.stringify(batches));
  for (const name of ['TIP 1', 'TIP 650']) assert.equal((await send(app, pair, { name })).alert.status, 'queued', name);
  assert.equal((await send(app, pair, { name: 'TIP 651' })).alert.status, 'held');
});

test('a long name is known although it is cut where a character has two halves', async (t) => {
  const app = await buildApp(t);
  const pair = await makePair(app.runtime);
  const display_name = `ก${'\u{20000}\u{20001}'.repeat(13)}${'\ufdfa'.repeat(12)}`;
  await send(app, pair, { display_name });
  await setRules(app, pair, { hold: { everything: false, newNames: true, fromMinor: null } });
  assert.equal((await send(app, pair, { display_name })).alert.status, 'queued');
});

test('a name of characters that stand for many letters is stored short, and known by all of them', async (t) => {
  const app = await buildApp(t);
  const pair = await makePair(app.runtime);
  const [one, two, three] = ['1', '2', '3'].map((digit) => '\ufdfa'.repeat(34) + digit) as [string, string, string];
  await send(app, pair, { display_name: one });
  await setRules(app, pair, { hold: { everything: false, newNames: true, fromMinor: null } });
  const rows = await app.runtime.db.all<{ name: string }>('SELECT name FROM known_names');
  assert.deepEqual([rows.length, (rows[0]?.name.length ?? 999) <= 200], [1, true]);
  const statusOf = async (display_name: string) => (await send(app, pair, { display_name })).alert.status;
  assert.deepEqual([await statusOf(one), await statusOf(two)], ['queued', 'held']);
  // As it was stored before.
  await execute(app.runtime.db, 'INSERT INTO known_names (creator_id, name) VALUES ($1, $2)', [
    pair.creatorId,
    nameKey(three),
  ]);
  assert.equal(await statusOf(three), 'queued');
});
