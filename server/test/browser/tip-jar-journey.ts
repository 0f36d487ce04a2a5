import assert from 'node:assert/strict';
import jsqr from 'jsqr';
import type { Browser, Page } from 'playwright-core';
import sharp from 'sharp';
import { pageWidth, violations } from './axe.ts';
import { connect, type TipJar, tipsOf, visit } from './tip-jar.ts';

/** Whatever says or suggests that the money came. */
const claims = /\bpaid\b|received|thank|receipt|has the money|ได้รับเงินแล้ว|ชำระแล้ว|จ่ายแล้ว|ขอบคุณ|ใบรับ/i;

export interface Person {
  readonly language: string;
  readonly locale: string;
  readonly name: string;
  readonly colorScheme: 'light' | 'dark';
}

/** From connecting to the receipt, by pages alone, on phones of the creator and of a supporter. */
export async function journey(jar: TipJar, browser: Browser, { language, locale, name, colorScheme }: Person) {
  const creator = await jar.addCreator(`creator_${language}`, name);
  const complaints: string[] = [];
  const creatorPage = await visit(browser, locale, colorScheme);
  const supporterPage = await visit(browser, locale, colorScheme);
  for (const page of [creatorPage, supporterPage]) {
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => /policy/i.test(message.text()) && complaints.push(message.text()));
  }

  await creatorPage.goto(jar.url);
  assert.equal(await creatorPage.locator('html').getAttribute('lang'), language);
  await looksRight(creatorPage);
  await connect(creatorPage, jar.url, creator.username);
  await supporterPage.goto(`${jar.url}/@${creator.username}`);
  assert.equal(await supporterPage.locator('form').count(), 0, 'no PromptPay ID, no form');
  await creatorPage.locator('input[name=promptpay]').fill('081-234-5678');
  await creatorPage.locator('form[action$=promptpay] button').click();
  await creatorPage.getByText('5678').waitFor();
  const overlay = await creatorPage.context().newPage();
  await overlay.goto(creator.overlay);

  await supporterPage.reload();
  await looksRight(supporterPage);
  await supporterPage.locator('input[name=own]').fill('150.5');
  await supporterPage.locator('input[name=name]').fill('สมชาย <i>S</i>');
  await supporterPage.locator('textarea').fill('<img src=x onerror=alert(1)> สู้ๆ');
  await supporterPage.locator('main button').click();
  await supporterPage.waitForURL(/\/payments\//);
  await looksRight(supporterPage);
  assert.doesNotMatch(await supporterPage.locator('body').innerText(), claims);

  const payload = await readQrCode(supporterPage);
  const fields = readEmv(payload);
  assert.equal(fields['54'], '150.50');
  assert.deepEqual([fields['53'], fields['58'], fields['01']], ['764', 'TH', '12']);
  assert.deepEqual(readEmv(fields['29'] ?? ''), { '00': 'A000000677010111', '01': '0066812345678' });
  assert.equal(fields['63'], crc16(payload.slice(0, -4)));

  assert.deepEqual(await tipsOf(jar, creator.id), []);
  const confirm = creatorPage.locator('form[action$=confirm] button');
  await confirm.waitFor(); // the creator's page shows it by itself
  await looksRight(creatorPage);
  const alert = overlay.locator('.alert').waitFor();
  await confirm.click();
  await alert;

  // The supporter's page follows by itself, up to the moment when it was on screen.
  await supporterPage.getByText(/^(It was on screen|ขึ้นจอแล้ว)$/).waitFor();
  await looksRight(supporterPage);
  const [tip] = await tipsOf(jar, creator.id);
  assert.equal(tip?.amount, 150.5);
  assert.equal(tip?.display_name, 'สมชาย <i>S</i>');
  const receipt = await supporterPage.locator('.receipt').innerText();
  for (const part of ['฿150.50', name, 'สมชาย <i>S</i>', '<img src=x onerror=alert(1)> สู้ๆ', tip?.id ?? '?'])
    assert.ok(receipt.includes(part), `${part} is missing in: ${receipt}`);
  assert.equal((await tipsOf(jar, creator.id)).length, 1);
  assert.deepEqual(complaints, []);
  await Promise.all([creatorPage, supporterPage].map((page) => page.context().close()));
}

/** What the camera of a phone reads on the page. */
async function readQrCode(page: Page): Promise<string> {
  const picture = await page.locator('img[src$="qr.png"]').screenshot();
  const { data, info } = await sharp(picture).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  return jsqr.default(new Uint8ClampedArray(data), info.width, info.height)?.data ?? '';
}

/** The fields of an EMVCo text: two digits of tag, two of length, the value. Its last field is a checksum. */
function readEmv(text: string): Record<string, string> {
  const fields: Record<string, string> = {};
  for (let at = 0; at < text.length; ) {
    const length = Number(text.slice(at + 2, at + 4));
    fields[text.slice(at, at + 2)] = text.slice(at + 4, at + 4 + length);
    at += 4 + length;
  }
  return fields;
}

function crc16(text: string): string {
  let crc = 0xffff;
  for (const byte of Buffer.from(text)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff;
  }
  return crc.toString(16).toUpperCase().padStart(4, '0');
}

/** Nothing is wider than the phone, and axe-core finds nothing. */
async function looksRight(page: Page): Promise<void> {
  assert.ok((await pageWidth(page)) <= (page.viewportSize()?.width ?? 0), `${page.url()} is too wide`);
  assert.deepEqual(await violations(page), []);
}
