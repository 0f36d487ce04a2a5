import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BrowserContext, Page } from 'playwright-core';
import { launch, serveApp, skip } from './chromium.ts';

const password = 'correct horse battery';

/** A page that keeps what its console complained about. */
async function open(context: BrowserContext) {
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  return { page, complaints };
}

async function signUp(page: Page, address: string, username: string): Promise<void> {
  await page.goto(`${address}/signup`);
  await page.getByLabel('Username').fill(username);
  await page.getByLabel('Display name').fill('มะลิ');
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Create an account' }).click();
  await page.waitForURL(`${address}/dashboard`);
}

test('in Chromium a passkey is added and signs in with nothing typed', { skip }, async (t) => {
  const { address, runtime } = await serveApp(t);
  const browser = await launch(t);
  const context = await browser.newContext({ locale: 'en-US' });
  const { page, complaints } = await open(context);
  const cdp = await context.newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  await signUp(page, address, 'mali');
  const passkeys = page.locator('#passkeys');
  await page.goto(`${address}/account`);
  await passkeys.getByLabel('Name of the passkey').fill('Laptop');
  await passkeys.getByRole('button', { name: 'Add a passkey' }).click();
  await page.getByText('The passkey is added').waitFor();
  await passkeys.getByText('Laptop').waitFor();

  await page.goto(`${address}/logout`);
  await page.getByRole('main').getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL(`${address}/login`);
  const posted = page.waitForRequest((request) => request.url().includes('/login/passkey?'));
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await page.waitForURL(`${address}/dashboard`);

  await t.test('security 29: the same answer sent again is refused', async () => {
    const fields = new URLSearchParams((await posted).postData() ?? '');
    const replay = await context.request.post(`${address}/login/passkey`, {
      headers: { origin: address },
      form: { csrf: fields.get('csrf') ?? '', credential: fields.get('credential') ?? '' },
      maxRedirects: 0,
    });
    assert.equal(replay.status(), 403, 'the token of before is gone with the sign-in');
    assert.equal(
      (await runtime.passkeys.signIn('x', fields.get('credential') ?? '', { address: '', userAgent: '' })).outcome,
      'wrong',
    );
  });

  await t.test('an authenticator that does not verify its user is told so and changes nothing', async () => {
    await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false });
    await context.clearCookies();
    await page.goto(`${address}/login`);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByRole('alert').getByText('That did not work').waitFor();
    assert.equal(page.url(), `${address}/login`);
  });
  assert.deepEqual(complaints, []);
});

test('with scripts off: sign up, make recovery codes, sign out, recover, end the other session', {
  skip,
}, async (t) => {
  const { address } = await serveApp(t);
  const browser = await launch(t);
  const context = await browser.newContext({ locale: 'en-US', javaScriptEnabled: false });
  const { page, complaints } = await open(context);
  await signUp(page, address, 'mali');
  await page.goto(`${address}/account`);
  await page.getByText('Passkeys need JavaScript').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Add a passkey' }).isVisible(), false);
  await page.getByRole('button', { name: 'Make recovery codes' }).click();
  const codes = ((await page.locator('pre').textContent()) ?? '').split('\n');
  assert.equal(codes.length, 10);

  const other = await browser.newContext({ locale: 'th-TH', javaScriptEnabled: false });
  const { page: lost } = await open(other);
  await lost.goto(`${address}/login`);
  await lost.getByRole('link', { name: 'ใช้รหัสกู้คืน' }).click();
  await lost.getByLabel('ชื่อผู้ใช้').fill('mali');
  await lost.getByLabel('รหัสกู้คืน').fill(codes[0]!);
  await lost.getByLabel('รหัสผ่านใหม่').fill('another good one');
  await lost.getByRole('button', { name: 'ตั้งรหัสผ่านและเข้าสู่ระบบ' }).click();
  await lost.waitForURL(`${address}/dashboard`);
  await lost.getByText('รหัสกู้คืนที่ยังไม่ได้ใช้: 9').waitFor();

  await page.goto(`${address}/account`);
  await page.waitForURL(/\/login\?return_to=%2Faccount/);
  await page.getByLabel('Username').fill('mali');
  await page.getByLabel('Password').fill('another good one');
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.waitForURL(`${address}/account`);
  await page.getByRole('button', { name: 'End', exact: true }).click();
  await page.getByText('The session has ended').waitFor();
  await lost.goto(`${address}/dashboard`);
  await lost.waitForURL(/\/login/);
  await page.goto(`${address}/dashboard`);
  await page.getByRole('button', { name: 'Send a test alert' }).click();
  await page.getByText('No overlay is open').waitFor();
  assert.deepEqual(complaints, []);
});
