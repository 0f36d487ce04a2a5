import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { until } from '../../../sdk/test/until.ts';
import { launch } from './launch.ts';
import { connect, folder, skip, startTipJar, type TipJar, tipsOf, visit } from './tip-jar.ts';
import { journey, type Person } from './tip-jar-journey.ts';

let visitors = 0;

/** A payment made without a browser; gives its address. */
async function makePayment(jar: TipJar, username: string, form: Record<string, string>): Promise<string> {
  const response = await postForm(jar, `/@${username}`, {
    key: randomBytes(8).toString('hex'),
    name: 'Somchai',
    ...form,
  });
  assert.equal(response.status, 303, await response.text());
  return `${jar.url}${response.headers.get('location')}`;
}

function postForm(jar: TipJar, path: string, form: Record<string, string>, headers: Record<string, string> = {}) {
  return fetch(`${jar.url}${path}`, {
    method: 'POST',
    redirect: 'manual',
    headers: { origin: jar.url, 'x-forwarded-for': `198.51.100.${++visitors}`, ...headers },
    body: new URLSearchParams(form),
  });
}

const untilRecorded = (payment: string) => until('it is recorded', async () => (await stateOf(payment)) === 'recorded');

async function stateOf(payment: string): Promise<string> {
  return (await (await fetch(`${payment}/state`)).json()).state;
}

function signed(secret: string, body: object, at = new Date()) {
  const text = JSON.stringify(body);
  const headers = {
    'content-type': 'application/json',
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign('msg_1', at, text),
  };
  return { method: 'POST', headers, body: text };
}

test('the tip jar', { skip }, async (t) => {
  const jar = await startTipJar(t);
  let running = await jar.start();
  const browser = await launch(t);

  const people: Person[] = [
    { language: 'en', locale: 'en-US', colorScheme: 'light', name: 'Mali <b>มะลิ</b>' },
    { language: 'th', locale: 'th-TH', colorScheme: 'dark', name: 'สมหญิง' },
  ];
  for (const person of people)
    await t.test(`its whole journey on a phone: ${person.language}`, () => journey(jar, browser, person));

  const mali = await jar.addCreator('mali', 'Mali');
  const page = await visit(browser);
  await connect(page, jar.url, 'mali');
  await page.getByLabel('PromptPay ID').fill('0812345678');
  await page.getByRole('button', { name: 'Save' }).click();
  const session = async (from = page) => {
    const cookies = await from.context().cookies(jar.url);
    return { cookie: cookies.map((cookie) => `${cookie.name}=${cookie.value}`).join('; ') };
  };
  const token = await page.locator('input[name=token]').first().inputValue();
  const confirmPath = (payment: string) => `/jar/payments/${basename(payment)}/confirm`;

  await t.test('confirming again, from another tab or at once, records one tip and says so', async () => {
    const payment = await makePayment(jar, 'mali', { amount: '20' });
    await page.goto(`${jar.url}/jar`);
    await page.getByRole('button', { name: 'Yes, ฿20.00 came' }).click();
    await page.getByText('Recorded').waitFor();
    const again = await postForm(jar, confirmPath(payment), { token }, await session());
    assert.equal(again.status, 409);
    assert.match(await again.text(), /already confirmed/);
    const raced = await makePayment(jar, 'mali', { amount: '21' });
    const answers = await Promise.all(
      Array.from(
        { length: 6 },
        async () => (await postForm(jar, confirmPath(raced), { token }, await session())).status,
      ),
    );
    assert.deepEqual(answers.sort(), [303, 409, 409, 409, 409, 409]);
    await untilRecorded(raced);
    const amounts = (await tipsOf(jar, mali.id)).map(({ amount }) => amount);
    assert.deepEqual(amounts, [21, 20]);
  });

  await t.test('another creator, another site, no session or a wrong token confirms nothing', async () => {
    const payment = await makePayment(jar, 'mali', { amount: '30' });
    await jar.addCreator('other', 'Other');
    const other = await visit(browser);
    await connect(other, jar.url, 'other');
    const otherToken = await other.locator('input[name=token]').first().inputValue();
    const path = confirmPath(payment);
    const refused: [number, Promise<Response>][] = [
      [404, postForm(jar, path, { token: otherToken }, await session(other))],
      [403, postForm(jar, path, { token: otherToken }, await session())],
      [403, postForm(jar, path, { token }, { ...(await session()), origin: 'https://evil.example' })],
      [403, postForm(jar, path, { token })],
      [403, postForm(jar, path, {}, await session())],
    ];
    for (const [status, answer] of refused) assert.equal((await answer).status, status);
    assert.equal(await stateOf(payment), 'waiting');
    await other.context().close();
  });

  await t.test(
    'a slip service confirms only by its secret, the exact amount and receiver, and a transfer once',
    async () => {
      const before = (await tipsOf(jar, mali.id)).length;
      const payment = await makePayment(jar, 'mali', { amount: '40.25' });
      const slipFields = { payment_id: basename(payment), amount: 40.25, receiver: '0812345678', reference: 'KBANK-1' };
      const call = async (...[secret, body, at]: Parameters<typeof signed>): Promise<[number, string]> => {
        const response = await fetch(`${jar.url}/slips`, signed(secret, body, at));
        const { error, state } = await response.json();
        return [response.status, error ?? state];
      };
      const { slip, webhook } = jar.secrets;
      assert.deepEqual(await call(webhook, slipFields), [400, 'no_matching_signature']);
      assert.deepEqual(await call(slip, slipFields, new Date(Date.now() - 3_600_000)), [400, 'timestamp_too_old']);
      assert.deepEqual(await call(slip, { ...slipFields, amount: 40.2 }), [422, 'other_amount']);
      assert.deepEqual(await call(slip, { ...slipFields, amount: '40.25' }), [422, 'other_amount']);
      assert.deepEqual(await call(slip, { ...slipFields, receiver: '0899999999' }), [422, 'other_receiver']);
      assert.deepEqual(await call(slip, { ...slipFields, reference: '' }), [422, 'reference_missing']);
      assert.deepEqual(await call(slip, { ...slipFields, payment_id: 'another' }), [404, 'not_found']);
      const unsigned = await fetch(`${jar.url}/slips`, { method: 'POST', body: JSON.stringify(slipFields) });
      assert.equal(unsigned.status, 400);
      assert.equal(await stateOf(payment), 'waiting');
      assert.equal((await tipsOf(jar, mali.id)).length, before);

      assert.equal((await call(slip, slipFields))[0], 200);
      await untilRecorded(payment);
      assert.deepEqual(await call(slip, slipFields), [200, 'recorded']);
      const second = await makePayment(jar, 'mali', { amount: '40.25' });
      assert.deepEqual(await call(slip, { ...slipFields, payment_id: basename(second) }), [409, 'slip_used']);
      assert.equal(await stateOf(second), 'waiting');
      assert.equal((await tipsOf(jar, mali.id)).length, before + 1);
    },
  );

  await t.test('a forged webhook puts nothing on screen and disconnects nobody', async () => {
    const payment = await makePayment(jar, 'mali', { amount: '50' });
    await postForm(jar, confirmPath(payment), { token }, await session());
    await untilRecorded(payment);
    const [tip] = await tipsOf(jar, mali.id);
    const forged = `whsec_${randomBytes(32).toString('base64')}`;
    const base = { id: 'evt_1', sequence: 1, creator_id: mali.id, created_at: new Date().toISOString() };
    for (const event of [
      { ...base, type: 'alert.shown', data: { tip_id: tip?.id, shown_at: base.created_at } },
      { ...base, type: 'grant.revoked', data: { creator_id: mali.id, reason: 'creator' } },
    ]) {
      const response = await fetch(`${jar.url}/webhooks`, signed(forged, event));
      assert.deepEqual([response.status, await response.text()], [400, 'no_matching_signature']);
    }
    assert.equal(await stateOf(payment), 'recorded');
    assert.match(await (await fetch(`${jar.url}/@mali`)).text(), /Show the QR code/);
  });

  await t.test('what Namjai would refuse is refused before there is a QR code', async () => {
    const hostile: Record<string, string>[] = [
      ...['', '0', '0.99', '-5', '1e3', '50000.01', '20.005', 'NaN'].map((own) => ({ own })),
      ...['', ' ', '\u200b', '\u0301', 'a\u202eb', 'a\tb', 'น'.repeat(41)].map((name) => ({ own: '20', name })),
      ...['น'.repeat(256), 'a\u0000b'].map((message) => ({ own: '20', message })),
    ];
    for (const form of hostile) {
      const response = await postForm(jar, '/@mali', { key: 'one', name: 'Somchai', ...form });
      assert.equal(response.status, 422, JSON.stringify(form));
    }
  });

  await t.test('the form sent twice is one payment, other words are another, and a flood is refused', async () => {
    const key = 'the key of one page';
    const address = { 'x-forwarded-for': '203.0.113.1' };
    const send = (form: Record<string, string>) => postForm(jar, '/@mali', { key, name: 'Somchai', ...form }, address);
    const locations = [];
    for (const amount of ['60', '60', '61']) locations.push((await send({ amount })).headers.get('location'));
    assert.equal(locations[0], locations[1]);
    assert.notEqual(locations[0], locations[2]);
    const statuses = [];
    for (const amount of ['62', '63', '64']) statuses.push((await send({ amount })).status);
    assert.deepEqual(statuses, [303, 303, 429]);
  });

  // A day later Namjai has forgotten the Idempotency-Key: the tip is looked for, and not sent again.
  for (const later of [false, true])
    await t.test(`a crash and a lost answer lose and double nothing${later ? ', a day later too' : ''}`, async () => {
      const before = (await tipsOf(jar, mali.id)).length;
      const payment = await makePayment(jar, 'mali', { amount: '70', message: 'through a crash' });
      const lost = jar.wire.cut;
      jar.wire.cutAnswers = true;
      const confirming = postForm(jar, confirmPath(payment), { token }, await session()).catch(() => undefined);
      await until('an answer was lost', () => jar.wire.cut > lost);
      assert.equal(await stateOf(payment), 'confirmed');
      await running.kill();
      await confirming;
      if (later) backdate(jar.settings.DATABASE);
      const sent = jar.wire.sent;
      jar.wire.cutAnswers = false;
      running = await jar.start();
      await untilRecorded(payment);
      const tips = await tipsOf(jar, mali.id);
      assert.equal(tips.length, before + 1);
      assert.equal(tips[0]?.message, 'through a crash');
      assert.equal(jar.wire.sent > sent, !later);
    });

  await t.test('disconnecting ends the grant, closes the page and forgets the PromptPay ID', async () => {
    await page.goto(`${jar.url}/jar`);
    await page.getByText('Disconnect').first().click();
    await page.getByRole('button', { name: 'Disconnect' }).click();
    await page.getByRole('link', { name: 'Connect with Namjai' }).waitFor();
    assert.match(await (await fetch(`${jar.url}/@mali`)).text(), /takes no tips/);
    assert.equal((await postForm(jar, '/@mali', { key: 'x', name: 'Somchai', amount: '20' })).status, 409);
  });

  await t.test('disconnecting at Namjai does so too, told by the webhook', async () => {
    const lek = await jar.addCreator('lek', 'Lek');
    const phone = await visit(browser);
    await connect(phone, jar.url, 'lek');
    await phone.getByLabel('PromptPay ID').fill('1234567890121');
    await phone.getByRole('button', { name: 'Save' }).click();
    const payment = await makePayment(jar, 'lek', { amount: '20' });
    await jar.runtime.grants.revoke(lek.id, jar.settings.NAMJAI_CLIENT_ID, 'creator');
    await until('the page is closed', async () => /takes no tips/.test(await (await fetch(`${jar.url}/@lek`)).text()));
    assert.equal((await fetch(payment)).status, 404);
    await phone.goto(`${jar.url}/jar`);
    await phone.getByRole('link', { name: 'Connect with Namjai' }).waitFor();
  });

  await t.test('neither log nor database holds a secret or a PromptPay ID', async () => {
    const directory = dirname(jar.settings.DATABASE);
    const files = readdirSync(directory).filter((file) => file.startsWith('tip-jar.db'));
    const stored = files.map((file) => readFileSync(join(directory, file), 'latin1')).join('');
    assert.ok(stored.includes('through a crash'), 'the files are the ones to look into');
    const { NAMJAI_CLIENT_SECRET, TIP_JAR_KEY, WEBHOOK_SECRET, SLIP_SECRET } = jar.settings;
    const ofThisRun = [NAMJAI_CLIENT_SECRET, TIP_JAR_KEY, WEBHOOK_SECRET, SLIP_SECRET];
    const secrets = [...ofThisRun, 'njr_', 'njc_', '0812345678', '1234567890121'];
    // An access token is a JWT. Its first letters alone also stand in encrypted text, by chance.
    const accessToken = /eyJ[\w-]{20,}\.[\w-]{20}/;
    for (const text of [stored, jar.output()]) {
      for (const secret of secrets) assert.ok(!text.includes(secret), `${secret} is in the clear`);
      assert.ok(!accessToken.test(text), 'an access token is in the clear');
    }
  });
});

/** As if the first try to record had been more than a day ago. */
function backdate(file: string): void {
  const db = new DatabaseSync(file);
  db.exec(`UPDATE payments SET attempted_at = attempted_at - 90000000 WHERE state = 'confirmed'`);
  db.close();
}

test('without its settings the tip jar says which are missing', { skip }, () => {
  const { status, stderr } = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', 'src/main.js'], {
    cwd: folder,
    env: { PATH: process.env.PATH, TIP_JAR_KEY: 'short' },
    encoding: 'utf8',
  });
  assert.equal(status, 1);
  for (const name of ['NAMJAI_CLIENT_ID is missing', 'NAMJAI_CLIENT_SECRET is missing', 'WEBHOOK_SECRET is missing'])
    assert.match(stderr, new RegExp(name));
  assert.match(stderr, /TIP_JAR_KEY is too short/);
  assert.doesNotMatch(stderr, /\bat .*:\d+:\d+/);
});
