import assert from 'node:assert/strict';
import { test } from 'node:test';
import { problemOf } from '../../../../test/discord-receiver.ts';
import { hostileTexts } from '../../../../test/hostile-texts.ts';
import type { Answer } from '../../../platform/safe-fetch.ts';
import { type ConnectionEvent, sampleEvent, sampleRecipient } from './dialect.ts';
import { discord } from './discord.ts';

const embedOf = (event: Partial<ConnectionEvent>) => {
  const { body } = discord.write({ ...sampleEvent, ...event }, sampleRecipient);
  assert.equal(problemOf(body), undefined, body);
  return JSON.parse(body).embeds[0];
};

const answer = (status: number, body: string | null = null, retryAfter: string | null = null): Answer => ({
  ...{ status, body, retryAfter },
  ...{ error: null, timedOut: false },
});

test('the sample is what is written', () => {
  assert.deepEqual(discord.write(sampleEvent, sampleRecipient), discord.sample);
});

test('the longest names and messages are within Discord’s limits, whatever they are made of', () => {
  const units = ['ก', 'ที่', '😀', '👩‍👩‍👧‍👦', '*', '\\', '[', 'W', ...Object.values(hostileTexts)];
  for (const unit of units) {
    const upTo = (count: number) => [...unit.repeat(count)].slice(0, count).join('');
    const { title } = embedOf({ name: upTo(40), message: upTo(255) });
    assert.ok(title.endsWith(' · ฿150.50'), title);
  }
});

test('nothing in a name or a message is markup, a link or a mention', () => {
  for (const text of [
    ...['@everyone', '@here', '<@1234>', '<@&1234>', '<#1234>', '</tip:1234>', '<t:1700000000:R>', '<:x:1234>'],
    ...['[free](https://evil.example)', 'https://evil.example', '<https://evil.example>', '# big', '-# small'],
    ...['> quoted', '- listed', '+ listed', '**bold**', '__line__', '~~gone~~', '||hidden||', '`code`', '\\*out\\*'],
  ]) {
    const { title, description } = embedOf({ name: text, message: `so\n${text}` });
    for (const written of [title, description]) {
      assert.ok(!/(?<!\\)(?:\\\\)*[*_~`|>#+[\]()<:@-]/.test(written), written);
      const read = written.replace(/\\([^0-9A-Za-z\s])/g, '$1');
      assert.ok(read.includes(text), `${read} reads as ${text}`);
    }
  }
});

test('a message that is hidden, empty or blank is left out', () => {
  for (const message of [null, '', '  ', '\u200b'])
    assert.ok(!('description' in embedOf({ message })), JSON.stringify(message));
});

test('a test says so, and a void tells the amount only', () => {
  assert.equal(embedOf({ treatment: 'test' }).footer.text, 'Test · ทดสอบ');
  const embed = embedOf({ treatment: 'void', name: '', message: null });
  assert.deepEqual([embed.title, embed.description], ['Tip voided · ยกเลิกทิปแล้ว', '฿150.50']);
});

test('a 429 pauses as long as its body says, else its header', () => {
  for (const [body, header, ms] of [
    ['{"message": "You are being rate limited.", "retry_after": 1.337, "global": false}', '2', 1337],
    ['{"retry_after":64.57,"global":true}', null, 64_570],
    ['<html>banned</html>', '3600', 3_600_000],
    ['{"retry_after": 999999999}', null, 86_400_000],
    ['{"retry_after": 0}', null, 1],
    [null, 'Wed, 21 Oct 2026 07:28:00 GMT', 5000],
    [null, null, 5000],
  ] as const)
    assert.deepEqual(discord.judge(answer(429, body, header)), { outcome: 'paused', pauseMs: ms }, `${body} ${header}`);
});

test('a webhook that is unknown, or whose token is wrong, is gone; other refusals are failures', () => {
  const outcomes = [200, 204, 301, 400, 401, 403, 404, 410, 500, 502].map((status) => [
    status,
    discord.judge(answer(status)).outcome,
  ]);
  assert.deepEqual(outcomes, [
    ...[[200, 'succeeded'] as const, [204, 'succeeded'] as const, [301, 'failed'] as const, [400, 'failed'] as const],
    ...[[401, 'gone'] as const, [403, 'failed'] as const, [404, 'gone'] as const, [410, 'gone'] as const],
    ...[[500, 'failed'] as const, [502, 'failed'] as const],
  ]);
});

test('only addresses of incoming webhooks at Discord are its addresses', () => {
  const token = 'aVerySecretToken-of_this_webhook';
  for (const url of [
    `https://discord.com/api/webhooks/1234567890123456789/${token}`,
    `https://discordapp.com/api/webhooks/1234567890123456789/${token}`,
    `https://canary.discord.com/api/webhooks/1234567890123456789/${token}`,
    `https://ptb.discord.com/api/v10/webhooks/1234567890123456789/${token}?thread_id=42`,
  ])
    assert.ok(discord.isAddress(new URL(url)), url);
  for (const url of [
    `http://discord.com/api/webhooks/1234/${token}`,
    `https://discord.com:8443/api/webhooks/1234/${token}`,
    `https://discord.com.evil.example/api/webhooks/1234/${token}`,
    `https://evil-discord.com/api/webhooks/1234/${token}`,
    `https://evil.discord.com/api/webhooks/1234/${token}`,
    `https://discord.com/api/webhooks/1234/${token}/slack`,
    `https://discord.com/api/webhooks/../../oauth2/1234/${token}`,
    `https://discord.com/api/webhooks/1234/${token}?wait=true`,
    'https://discord.com/api/webhooks/1234',
    'https://discord.com/',
  ])
    assert.ok(!discord.isAddress(new URL(url)), url);
});
