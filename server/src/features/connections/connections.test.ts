import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../../../test/build-app.ts';
import { buildConnections } from '../../../test/connections.ts';
import { makeCreator } from '../../../test/factories.ts';
import { ConnectionExists, maxConnections, TooManyConnections } from '../webhooks/index.ts';
import { AddressRefused, maxLabel, maxToken } from './service.ts';

test('a tip is told in the words of Discord and of Ko-fi', async (t) => {
  const { worker, discord, kofi, tip, runtime, username, clock } = await buildConnections(t);
  const { id } = await tip();
  await worker.pass();
  assert.deepEqual([discord.refused, kofi.refused], [[], []]);
  assert.deepEqual(
    discord.messages.map(({ embeds }) => embeds.map(({ title, description }) => [title, description])),
    [[['สมชาย · ฿150.50', 'สู้ ๆ นะครับ']]],
  );
  const [payment] = kofi.payments.values();
  const { from_name, message, amount, kofi_transaction_id, url, timestamp } = payment!;
  assert.deepEqual(
    { from_name, message, amount, kofi_transaction_id, url, timestamp },
    {
      from_name: 'สมชาย',
      message: 'สู้ ๆ นะครับ',
      amount: '150.50',
      kofi_transaction_id: id,
      url: `${runtime.config.authUrl}/@${username}`,
      timestamp: new Date(clock()).toISOString(),
    },
  );
  assert.equal(kofi.payments.size, 1);
});

test('a test goes to one connection only, and its log tells the answer', async (t) => {
  const { worker, discord, kofi, connections, creatorId, onDiscord } = await buildConnections(t);
  const id = await connections.test(creatorId, onDiscord.id);
  await worker.pass();
  assert.equal(discord.messages[0]?.embeds[0]?.footer?.text, 'Test · ทดสอบ');
  assert.deepEqual([discord.messages.length, kofi.requests.length], [1, 0]);
  const { deliveries } = await connections.deliveries(creatorId, onDiscord.id);
  assert.deepEqual(
    deliveries.map((each) => [
      each.id,
      each.event_type,
      each.status,
      each.attempts.map(({ status_code }) => status_code),
    ]),
    [[id, 'alert.test', 'succeeded', [204]]],
  );
});

test('an address is refused where the guard refuses it, and where Discord’s must stand and does not', async (t) => {
  const { runtime } = await buildApp(t, {}, { outgoing: { resolve: async () => ['203.0.113.9', '8.8.8.8'] } });
  const { creatorId } = await makeCreator(runtime);
  const { connections } = runtime;
  const problemOf = async (kind: 'discord' | 'kofi', url: string) => {
    const refused = await connections.add(creatorId, { kind, url }).catch((error) => error);
    assert.ok(refused instanceof AddressRefused, url);
    return refused.problem;
  };
  for (const kind of ['discord', 'kofi'] as const) {
    assert.equal(await problemOf(kind, 'http://discord.com/api/webhooks/1/abc'), 'not_https');
    assert.equal(await problemOf(kind, 'https://127.0.0.1/api/webhooks/1/abc'), 'not_public');
    assert.equal(await problemOf(kind, 'https://[::ffff:10.0.0.1]/api/webhooks/1/abc'), 'not_public');
    assert.equal(await problemOf(kind, 'https://discord.com/api/webhooks/1/abc'), 'not_public', 'not all are public');
    assert.equal(await problemOf(kind, 'https://discord.com:25/api/webhooks/1/abc'), 'port');
    assert.equal(await problemOf(kind, 'https://a:b@discord.com/api/webhooks/1/abc'), 'user_info');
  }
  const { runtime: reachable } = await buildApp(t, {}, { outgoing: { resolve: async () => ['8.8.8.8'] } });
  const other = await makeCreator(reachable);
  const add = (kind: 'discord' | 'kofi', url: string) => reachable.connections.add(other.creatorId, { kind, url });
  await assert.rejects(add('discord', 'https://evil.example/api/webhooks/1/abc'), AddressRefused);
  const added = await add('discord', 'https://discord.com/api/webhooks/1234/aSecretToken-wxyz');
  assert.deepEqual([added.host, added.addressEnd], ['discord.com', 'wxyz']);
  assert.ok(!JSON.stringify(added).includes('aSecretToken'));
  await add('kofi', 'https://bot.example/kofi');
});

test('a creator has at most ten connections, even if they are added at once', async (t) => {
  const { connections, creatorId, discord } = await buildConnections(t);
  const add = () => connections.add(creatorId, { kind: 'discord', url: discord.url });
  const added = await Promise.allSettled(Array.from({ length: 12 }, add));
  const refused = added.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
  assert.equal(refused.length, 4);
  for (const error of refused) assert.ok(error instanceof TooManyConnections, String(error));
  assert.equal((await connections.list(creatorId)).length, maxConnections);
});

test('a form that is sent twice adds one connection', async (t) => {
  const { connections, creatorId, discord, runtime } = await buildConnections(t);
  const id = runtime.newId('con');
  const add = () => connections.add(creatorId, { kind: 'discord', url: discord.url }, id);
  await add();
  await assert.rejects(add, ConnectionExists);
});

test('label, token and smallest amount are held to their limits', async (t) => {
  const { connections, creatorId, onKofi } = await buildConnections(t);
  for (const change of [
    { label: 'x'.repeat(maxLabel + 1) },
    { label: 'a\nb' },
    { verificationToken: 'x'.repeat(maxToken + 1) },
    { verificationToken: 'a\0b' },
    { minAmountMinor: -1 },
    { minAmountMinor: 0.5 },
    { minAmountMinor: Number.MAX_SAFE_INTEGER },
  ])
    await assert.rejects(connections.change(creatorId, onKofi.id, change), { code: 'validation_failed' });
  const changed = await connections.change(creatorId, onKofi.id, { label: 'x'.repeat(maxLabel), minAmountMinor: 100 });
  assert.deepEqual([changed.label?.length, changed.minAmountMinor], [maxLabel, 100]);
  assert.equal((await connections.get(creatorId, onKofi.id)).hasVerificationToken, true);
});

test('another creator’s connection is not there', async (t) => {
  const { connections, runtime, onDiscord, worker, tip, creatorId } = await buildConnections(t);
  await tip();
  await worker.pass();
  const { deliveries } = await connections.deliveries(creatorId, onDiscord.id);
  const stranger = (await makeCreator(runtime)).creatorId;
  for (const call of [
    () => connections.get(stranger, onDiscord.id),
    () => connections.change(stranger, onDiscord.id, { label: 'mine' }),
    () => connections.remove(stranger, onDiscord.id),
    () => connections.test(stranger, onDiscord.id),
    () => connections.deliveries(stranger, onDiscord.id),
    () => connections.retry(stranger, onDiscord.id, deliveries[0]!.id),
  ])
    await assert.rejects(call, { code: 'not_found' });
  assert.deepEqual(await connections.list(stranger), []);
  assert.equal((await connections.get(creatorId, onDiscord.id)).label, null);
});
