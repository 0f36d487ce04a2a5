/** What a connection is sent, when, and what not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../../../sdk/test/until.ts';
import { buildConnections } from '../../../test/connections.ts';
import { startDiscord } from '../../../test/discord-receiver.ts';
import { makeCreator } from '../../../test/factories.ts';
import { storedBytes } from '../../../test/stored-bytes.ts';

const voider = { clientId: null, reason: 'a secret reason' };

test('what is held is sent when it is approved, and what is rejected never', async (t) => {
  const { worker, runtime, creatorId, tip, hold, received, discord, kofi } = await buildConnections(t);
  await hold(true);
  const [approved, rejected] = [await tip({ amount: 10 }), await tip({ amount: 20 })];
  await worker.pass();
  assert.deepEqual([discord.requests.length, kofi.requests.length], [0, 0]);
  await runtime.overlays.approve(creatorId, approved.id);
  await runtime.overlays.reject(creatorId, rejected.id);
  await worker.pass();
  assert.deepEqual(received(), { discord: ['สมชาย · ฿10.00'], kofi: ['สมชาย 10.00'] });
  const [payment] = kofi.payments.values();
  assert.equal(payment?.kofi_transaction_id, approved.id);
});

test('security 46: nothing that is blocked, hidden or masked is in a message', async (t) => {
  const { worker, runtime, creatorId, tip, received, discord, kofi } = await buildConnections(t);
  const list = { title: '', except: [], match: 'anywhere' } as const;
  await runtime.screening.change(creatorId, (rules) => ({
    ...rules,
    blockedNames: ['troll'],
    lists: [
      { ...list, id: 'a', words: ['heckle'], action: 'hide' },
      { ...list, id: 'b', words: ['rascal'], action: 'mask' },
    ],
  }));
  await tip({ displayName: 'troll', message: 'blocked words' });
  await tip({ message: 'you heckle' });
  await tip({ displayName: 'the rascal', message: 'fine' });
  await worker.pass();
  const { discord: titles } = received();
  assert.deepEqual([titles.length, kofi.payments.size], [2, 2]);
  const everything = [...discord.requests, ...kofi.requests].map(({ body }) => decodeURIComponent(body)).join('\n');
  assert.doesNotMatch(everything, /troll|blocked|heckle|rascal/);
  assert.equal([...kofi.payments.values()][0]?.message, null, 'a hidden message is none');
});

test('tips below the smallest amount are not sent, nor is their void', async (t) => {
  const { worker, connections, runtime, creatorId, tip, received, onDiscord } = await buildConnections(t);
  await connections.change(creatorId, onDiscord.id, { minAmountMinor: 10_000 });
  const [small] = [await tip({ amount: 99.99 }), await tip({ amount: 100 })];
  await worker.pass();
  await runtime.tips.void(creatorId, small.id, voider);
  await runtime.alerts.send({ creatorId, amount: 5 });
  await worker.pass();
  assert.deepEqual(received().discord, ['สมชาย · ฿100.00']);
  assert.equal(received().kofi.length, 3);
});

test('a void is a second message in Discord, without words, and none in Ko-fi', async (t) => {
  const { worker, runtime, creatorId, tip, received, discord, kofi } = await buildConnections(t);
  const { id } = await tip();
  await worker.pass();
  await runtime.tips.void(creatorId, id, voider);
  await worker.pass();
  assert.deepEqual(received(), { discord: ['สมชาย · ฿150.50', 'Tip voided · ยกเลิกทิปแล้ว'], kofi: ['สมชาย 150.50'] });
  assert.doesNotMatch(discord.requests[1]?.body ?? '', /สมชาย|สู้|secret reason/);
  assert.equal(kofi.requests.length, 1);
});

test('a tip that is voided before it was sent is not sent, and neither is its void', async (t) => {
  const { worker, runtime, creatorId, tip, hold, received, discord, kofi, clock, statusesOf, onDiscord } =
    await buildConnections(t);
  // Both in one part of the log.
  await runtime.tips.void(creatorId, (await tip()).id, voider);
  // One that was held.
  await hold(true);
  const held = await tip();
  await worker.pass();
  await runtime.tips.void(creatorId, held.id, voider);
  await hold(false);
  await worker.pass();
  assert.deepEqual([discord.requests.length, kofi.requests.length], [0, 0]);
  // One that waits for its next attempt.
  discord.next.push('broken');
  const waiting = await tip();
  await worker.pass();
  await runtime.tips.void(creatorId, waiting.id, voider);
  clock.advance(3_600_000);
  await worker.pass();
  assert.deepEqual(await statusesOf(onDiscord.id), ['cancelled']);
  assert.deepEqual(received(), { discord: [], kofi: ['สมชาย 150.50'] });
});

test('the message of a tip that was voided before it was sent cannot be sent again', async (t) => {
  const { worker, connections, runtime, creatorId, tip, received, discord, clock, statusesOf, onDiscord } =
    await buildConnections(t);
  const deliveryIds = async () =>
    (await connections.deliveries(creatorId, onDiscord.id)).deliveries.map(({ id }) => id).reverse();
  discord.answer = (response) => response.writeHead(500).end();
  const failed = await tip();
  for (let attempts = 0; attempts < 10; attempts++) {
    await worker.pass();
    clock.advance(86_400_000);
  }
  await connections.change(creatorId, onDiscord.id, { enabled: true });
  assert.deepEqual(await statusesOf(onDiscord.id), ['failed']);
  await connections.change(creatorId, onDiscord.id, { enabled: false });
  const skipped = await tip({ amount: 2 });
  await worker.pass();
  // Ids of one millisecond are in no order.
  clock.advance(1);
  await tip({ amount: 3 });
  await worker.pass();
  await connections.change(creatorId, onDiscord.id, { enabled: true });
  assert.deepEqual(await statusesOf(onDiscord.id), ['failed', 'skipped', 'skipped']);
  const other = await startDiscord(t);
  await connections.change(creatorId, onDiscord.id, { url: other.url });
  for (const { id } of [failed, skipped]) await runtime.tips.void(creatorId, id, voider);
  await worker.pass();
  const [first = '', second = '', third = ''] = await deliveryIds();
  for (const id of [first, second])
    await assert.rejects(connections.retry(creatorId, onDiscord.id, id), { code: 'validation_failed' });
  await connections.retry(creatorId, onDiscord.id, third);
  await worker.pass();
  assert.deepEqual(received().discord, []);
  assert.deepEqual(
    other.messages.map(({ embeds }) => embeds[0]?.title),
    ['สมชาย · ฿3.00'],
  );
});

test('a tip that is voided while it is being sent is followed by its void', async (t) => {
  const { worker, runtime, creatorId, tip, discord, statusesOf, onDiscord, clock } = await buildConnections(t);
  const { answer } = discord;
  let letGo = () => {};
  discord.answer = (...request) => {
    letGo = () => answer(...request);
  };
  const { id } = await tip();
  const sending = worker.pass();
  await discord.waitFor(1);
  clock.advance(1);
  await runtime.tips.void(creatorId, id, voider);
  const voiding = worker.pass();
  await until('the void is to be sent', async () => (await statusesOf(onDiscord.id)).length === 2);
  discord.answer = answer;
  letGo();
  await Promise.all([sending, voiding]);
  assert.deepEqual(
    discord.messages.map(({ embeds }) => embeds[0]?.title),
    ['สมชาย · ฿150.50', 'Tip voided · ยกเลิกทิปแล้ว'],
  );
  assert.deepEqual(await statusesOf(onDiscord.id), ['cancelled', 'succeeded']);
});

test('a tip whose message was sent again, in vain, before it was voided is followed by its void', async (t) => {
  const { worker, connections, runtime, creatorId, tip, received, discord, onDiscord } = await buildConnections(t);
  const { id } = await tip();
  await worker.pass();
  const [delivery] = (await connections.deliveries(creatorId, onDiscord.id)).deliveries;
  await connections.retry(creatorId, onDiscord.id, delivery?.id ?? '');
  discord.next.push('broken');
  await worker.pass();
  await runtime.tips.void(creatorId, id, voider);
  await worker.pass();
  assert.deepEqual(received().discord, ['สมชาย · ฿150.50', 'Tip voided · ยกเลิกทิปแล้ว']);
});

test('a retry that is asked for while Discord asks for a pause waits for its end', async (t) => {
  const { worker, connections, creatorId, tip, discord, clock, onDiscord } = await buildConnections(t);
  discord.next.push('broken');
  await tip();
  await worker.pass();
  clock.advance(10_000);
  const { answer } = discord;
  const asked = Promise.withResolvers<() => void>();
  discord.answer = (...request) => asked.resolve(() => answer(...request));
  discord.next.push('rate_limited');
  const sending = worker.pass();
  const letGo = await asked.promise;
  const [delivery] = (await connections.deliveries(creatorId, onDiscord.id)).deliveries;
  await connections.retry(creatorId, onDiscord.id, delivery?.id ?? '');
  discord.answer = answer;
  letGo();
  await sending;
  const [paused] = (await connections.deliveries(creatorId, onDiscord.id)).deliveries;
  assert.equal(paused?.status, 'pending');
  assert.ok(Date.parse(paused?.next_attempt_at ?? '') > clock(), 'not before its end');
  clock.advance(2_000);
  await worker.pass();
  assert.equal((await connections.deliveries(creatorId, onDiscord.id)).deliveries[0]?.status, 'succeeded');
});

test('test alerts are sent as such, as screened, and not if they would be held; replays and outcomes are not sent', async (t) => {
  const { worker, runtime, creatorId, tip, hold, received, discord } = await buildConnections(t);
  const { overlays, alerts } = runtime;
  await alerts.send({ creatorId, displayName: 'ทดลอง', amount: 20 });
  await worker.pass();
  assert.equal(discord.messages[0]?.embeds[0]?.footer?.text, 'Test · ทดสอบ');
  await hold(true);
  await alerts.send({ creatorId, displayName: 'ทดลอง', amount: 30 });
  await hold(false);
  const { id } = await tip();
  await worker.pass();
  await overlays.replay(creatorId, 1);
  await overlays.skip(creatorId, id);
  await worker.pass();
  assert.deepEqual(received(), {
    discord: ['ทดลอง · ฿20.00', 'สมชาย · ฿150.50'],
    kofi: ['ทดลอง 20.00', 'สมชาย 150.50'],
  });
});

test('events from before a connection was added, or while it is switched off, are not sent', async (t) => {
  const { worker, connections, creatorId, tip, onDiscord, received, discord, statusesOf } = await buildConnections(t);
  await connections.change(creatorId, onDiscord.id, { enabled: false });
  await tip();
  const added = await connections.add(creatorId, { kind: 'discord', url: discord.url });
  await worker.pass();
  assert.deepEqual(await statusesOf(onDiscord.id), ['skipped']);
  await assert.rejects(connections.test(creatorId, onDiscord.id), { code: 'validation_failed' });
  await connections.change(creatorId, onDiscord.id, { enabled: true });
  await worker.pass();
  assert.deepEqual(received().discord, []);
  await tip({ amount: 7 });
  await worker.pass();
  assert.deepEqual(received().discord, ['สมชาย · ฿7.00', 'สมชาย · ฿7.00']);
  assert.deepEqual(await statusesOf(added.id), ['succeeded']);
});

test('Discord’s 429 pauses the connection as long as it says, is no failed attempt, and no other connection waits', async (t) => {
  const { worker, connections, creatorId, tip, received, discord, kofi, clock, onDiscord } = await buildConnections(t);
  for (let i = 0; i < 12; i += 1) discord.next.push('rate_limited');
  discord.next.push('broken');
  for (const amount of [1, 2, 3]) await tip({ amount });
  await worker.pass();
  assert.deepEqual([discord.requests.length, kofi.payments.size], [1, 3]);
  for (let requests = 1; requests <= 12; requests += 1) {
    // After three in a row the pauses grow: who goes on at the same pace is refused by Discord altogether.
    const added = requests > 3 ? Math.min(1000 * 2 ** (requests - 3), 300_000) : 0;
    clock.advance(1_336 + added);
    await worker.pass();
    assert.equal(discord.requests.length, requests, 'not a millisecond early');
    clock.advance(1);
    await worker.pass();
    assert.ok(discord.requests.length > requests);
  }
  assert.deepEqual([discord.messages.length, discord.next.length], [2, 0]);
  // The first wait of the schedule: a pause is no failed attempt.
  clock.advance(5_000);
  await worker.pass();
  assert.deepEqual(received().discord.sort(), ['สมชาย · ฿1.00', 'สมชาย · ฿2.00', 'สมชาย · ฿3.00']);
  const { deliveries } = await connections.deliveries(creatorId, onDiscord.id);
  const codes = deliveries.flatMap(({ attempts }) => attempts.map(({ status_code }) => status_code));
  assert.deepEqual(codes.sort(), [204, 204, 204, ...Array(12).fill(429), 502]);
});

test('a tip that comes during a pause is sent after it', async (t) => {
  const { worker, tip, received, discord, clock } = await buildConnections(t);
  discord.next.push('rate_limited');
  await tip({ amount: 1 });
  await worker.pass();
  await tip({ amount: 2 });
  await worker.pass();
  assert.equal(discord.requests.length, 1);
  clock.advance(1_337);
  await worker.pass();
  assert.deepEqual(received().discord.sort(), ['สมชาย · ฿1.00', 'สมชาย · ฿2.00']);
});

for (const answer of ['unknown_webhook', 'invalid_token'] as const)
  test(`a Discord webhook that is gone (${answer}) switches its connection off, and only that one`, async (t) => {
    const { worker, connections, creatorId, tip, discord, kofi, onDiscord, onKofi, statusesOf, clock } =
      await buildConnections(t);
    discord.next.push(answer);
    await tip();
    await worker.pass();
    const off = await connections.get(creatorId, onDiscord.id);
    assert.deepEqual([off.enabled, off.disabledReason], [false, 'gone']);
    assert.equal((await connections.get(creatorId, onKofi.id)).enabled, true);
    clock.advance(1);
    await tip();
    await worker.pass();
    assert.deepEqual([discord.requests.length, kofi.payments.size], [1, 2]);
    assert.deepEqual(await statusesOf(onDiscord.id), ['failed', 'skipped']);
    const other = await startDiscord(t);
    await connections.change(creatorId, onDiscord.id, { url: other.url, enabled: true });
    await tip();
    await worker.pass();
    assert.deepEqual([discord.requests.length, other.messages.length], [1, 1]);
  });

test('tests and retries have a limit for each creator', async (t) => {
  const { connections, creatorId, onDiscord, onKofi, clock } = await buildConnections(t);
  for (let i = 0; i < 5; i += 1) for (const { id } of [onDiscord, onKofi]) await connections.test(creatorId, id);
  const { deliveries } = await connections.deliveries(creatorId, onDiscord.id);
  await assert.rejects(connections.test(creatorId, onDiscord.id), { code: 'rate_limited' });
  await assert.rejects(connections.retry(creatorId, onDiscord.id, deliveries[0]?.id ?? ''), { code: 'rate_limited' });
  clock.advance(60_000);
  await connections.retry(creatorId, onDiscord.id, deliveries[0]?.id ?? '');
});

test('adding, changing and removing have a limit for each creator, not for others', async (t) => {
  const { connections, creatorId, onDiscord, discord, runtime } = await buildConnections(t);
  for (let i = 2; i < 120; i += 1) await runtime.webhooks.limits.manage(creatorId);
  for (const call of [
    () => connections.add(creatorId, { kind: 'discord', url: discord.url }),
    () => connections.change(creatorId, onDiscord.id, { label: 'new' }),
    () => connections.remove(creatorId, onDiscord.id),
  ])
    await assert.rejects(call, { code: 'rate_limited' });
  const other = await makeCreator(runtime);
  await connections.add(other.creatorId, { kind: 'discord', url: discord.url });
});

test('security 24: neither address nor token of a connection stands in the store in clear, even if receivers repeat them', async (t) => {
  const { worker, connections, creatorId, tip, discord, kofi, onKofi, ...app } = await buildConnections(t);
  const secret = 'a "word" & nobody else’s';
  await connections.change(creatorId, onKofi.id, { verificationToken: secret });
  discord.answer = (response, { path }) => response.writeHead(500).end(`there is no ${path}`);
  kofi.answer = (response, { body }) =>
    response.writeHead(500).end(`${secret}\n${new URLSearchParams(body).get('data')}\n${body}`);
  await tip();
  await worker.pass();
  const { deliveries } = await connections.deliveries(creatorId, onKofi.id);
  assert.match(deliveries[0]?.attempts[0]?.response_body ?? '', /…/);
  const stored = await storedBytes(app);
  assert.ok(stored.includes(onKofi.id), 'there is something to search');
  const path = new URL(discord.url).pathname.split('/').at(-1) ?? '';
  for (const text of [path, 'nobody else', 'nobody+else', 'nobody%20else'])
    assert.equal(stored.includes(text), false, text);
});
