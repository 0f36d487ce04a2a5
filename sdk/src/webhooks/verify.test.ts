import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { type HeadersLike, verifyWebhook, WebhookError, type WebhookErrorCode } from './verify.ts';

const now = 1_800_000_000_000;
const secret = `whsec_${randomBytes(32).toString('base64')}`;
const other = `whsec_${randomBytes(32).toString('base64')}`;
const body = JSON.stringify({
  id: 'evt_1',
  type: 'webhook.ping',
  sequence: null,
  creator_id: null,
  data: {},
  note: 'น้ำใจ 🙏',
});

function sign(key: string, text = body, at = now, id = 'evt_1'): string {
  return new Webhook(key).sign(id, new Date(at), text);
}

function headers(signature: string, at = now): Record<string, string> {
  return { 'webhook-id': 'evt_1', 'webhook-timestamp': String(at / 1000), 'webhook-signature': signature };
}

function refuses(code: WebhookErrorCode) {
  return (error: unknown) => error instanceof WebhookError && error.code === code;
}

test('accepts what the standardwebhooks package signs, as text and as bytes', async () => {
  for (const raw of [body, new TextEncoder().encode(body), Buffer.from(body)]) {
    const event = await verifyWebhook({ secret, headers: headers(sign(secret)), body: raw, now: () => now });
    assert.deepEqual(event, JSON.parse(body));
  }
});

test('a ping is typed as one that belongs to no creator', async () => {
  const event = await verifyWebhook({ secret, headers: headers(sign(secret)), body, now: () => now });
  assert.ok(event.type === 'webhook.ping');
  const nobody: null = event.creator_id;
  assert.equal(nobody, null);
});

test('agrees with the standardwebhooks package on altered deliveries', async () => {
  const at = Math.floor(Date.now() / 1000) * 1000;
  const good = sign(secret, body, at);
  const base = headers(good, at);
  const lengthened = Buffer.concat([Buffer.from(good.slice(3), 'base64'), Buffer.from('x')]);
  const deliveries: { name: string; headers: Record<string, string>; body: string }[] = [
    { name: 'as sent', headers: base, body },
    { name: 'other body', headers: base, body: `${body} ` },
    { name: 'other id', headers: { ...base, 'webhook-id': 'evt_2' }, body },
    { name: 'other timestamp', headers: { ...base, 'webhook-timestamp': String(at / 1000 - 1) }, body },
    { name: 'other secret', headers: headers(sign(other, body, at), at), body },
    { name: 'two signatures, ours second', headers: headers(`${sign(other, body, at)} ${good}`, at), body },
    { name: 'two signatures, ours first', headers: headers(`${good} ${sign(other, body, at)}`, at), body },
    { name: 'unknown version beside', headers: headers(`v1a,AAAA ${good}`, at), body },
    { name: 'unknown version only', headers: headers(good.replace('v1,', 'v2,'), at), body },
    { name: 'cut short', headers: headers(good.slice(0, -8), at), body },
    { name: 'made longer', headers: headers(`v1,${lengthened.toString('base64')}`, at), body },
    { name: 'empty signature', headers: headers('v1,', at), body },
    { name: 'no version', headers: headers(good.slice(3), at), body },
  ];
  const accepted: string[] = [];
  for (const delivery of deliveries) {
    const ours = await verifyWebhook({ secret, headers: delivery.headers, body: delivery.body }).then(
      () => true,
      (error) => {
        assert.ok(refuses('no_matching_signature')(error), delivery.name);
        return false;
      },
    );
    let theirs = true;
    try {
      new Webhook(secret).verify(delivery.body, delivery.headers);
    } catch {
      theirs = false;
    }
    assert.equal(ours, theirs, delivery.name);
    if (ours) accepted.push(delivery.name);
  }
  assert.deepEqual(accepted, [
    'as sent',
    'two signatures, ours second',
    'two signatures, ours first',
    'unknown version beside',
  ]);
});

test('during a rotation either of two secrets accepts', async () => {
  for (const key of [secret, other]) {
    await verifyWebhook({ secrets: [other, secret], headers: headers(sign(key)), body, now: () => now });
  }
  const third = `whsec_${randomBytes(32).toString('base64')}`;
  await assert.rejects(
    verifyWebhook({ secrets: [other, secret], headers: headers(sign(third)), body, now: () => now }),
    refuses('no_matching_signature'),
  );
});

test('headers come as Headers, pairs, or an object with any case and lists', async () => {
  const plain = headers(sign(secret));
  const upper = Object.fromEntries(Object.entries(plain).map(([key, value]) => [key.toUpperCase(), value]));
  const lists = { ...plain, 'webhook-signature': [sign(other), sign(secret)], host: undefined };
  const map = new Map(Object.entries(plain));
  const forms: HeadersLike[] = [plain, upper, lists, new Headers(plain), Object.entries(upper), map];
  for (const form of forms) await verifyWebhook({ secret, headers: form, body, now: () => now });
});

test('names what is wrong', async () => {
  const good = headers(sign(secret));
  const verify = (changes: Partial<Record<string, string>>, at = now) =>
    verifyWebhook({ secret, headers: { ...good, ...changes }, body, now: () => at });
  for (const name of Object.keys(good)) {
    await assert.rejects(verify({ [name]: '' }), refuses('missing_header'), name);
  }
  await assert.rejects(verify({ 'webhook-timestamp': 'soon' }), refuses('bad_timestamp'));
  await assert.rejects(verify({ 'webhook-timestamp': '-1' }), refuses('bad_timestamp'));
  await verify({}, now + 300_000);
  await verify({}, now - 300_000);
  await assert.rejects(verify({}, now + 301_000), refuses('timestamp_too_old'));
  await assert.rejects(verify({}, now - 301_000), refuses('timestamp_too_new'));
  for (const bad of ['', 'whsec_', 'whsec_not base64!']) {
    await assert.rejects(verifyWebhook({ secret: bad, headers: good, body, now: () => now }), refuses('bad_secret'));
  }
  await assert.rejects(verifyWebhook({ secrets: [], headers: good, body, now: () => now }), refuses('bad_secret'));
  const text = headers(sign(secret, 'hello'));
  await assert.rejects(verifyWebhook({ secret, headers: text, body: 'hello', now: () => now }), refuses('bad_body'));
});
