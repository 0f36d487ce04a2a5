/**
 * A receiver of Ko-fi's webhook, written from its published description: a form whose field `data` is JSON, with the token
 * that the owner has set; answered 200, and told again with the same `message_id` otherwise.
 */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { type Receiver, startReceiver } from './receiver.ts';

export interface KofiPayment {
  readonly message_id: string;
  readonly timestamp: string;
  readonly from_name: string;
  readonly message: string | null;
  readonly amount: string;
  readonly url: string;
  readonly kofi_transaction_id: string;
}

export interface KofiReceiver extends Receiver {
  /** By message id: what is told again counts once. */
  readonly payments: Map<string, KofiPayment>;
  readonly refused: string[];
}

const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';
const isNull = (value: unknown): boolean => value === null;

/** Of a donation, which is no subscription and no order. */
const fields: Readonly<Record<string, (value: unknown) => boolean>> = {
  verification_token: isText,
  message_id: isText,
  timestamp: (value) => !Number.isNaN(Date.parse(String(value))),
  type: (value) => value === 'Donation',
  is_public: (value) => value === true,
  from_name: isText,
  message: (value) => value === null || typeof value === 'string',
  amount: (value) => typeof value === 'string' && /^\d+\.\d{2}$/.test(value),
  url: (value) => URL.canParse(String(value)),
  email: isNull,
  currency: (value) => value === 'THB',
  is_subscription_payment: (value) => value === false,
  is_first_subscription_payment: (value) => value === false,
  kofi_transaction_id: isText,
  shop_items: isNull,
  tier_name: isNull,
  shipping: isNull,
};

export async function startKofi(t: Pick<TestContext, 'after'>, token: string): Promise<KofiReceiver> {
  const base = await startReceiver(t);
  const receiver: KofiReceiver = Object.assign(base, { payments: new Map(), refused: [] });
  base.answer = (response, { method, headers, body }) => {
    try {
      assert.equal(method, 'POST');
      assert.match(headers['content-type'] ?? '', /^application\/x-www-form-urlencoded/);
      const form = [...new URLSearchParams(body)];
      assert.deepEqual(
        form.map(([name]) => name),
        ['data'],
      );
      const data = JSON.parse(form[0]?.[1] ?? '');
      assert.deepEqual(Object.keys(data), Object.keys(fields));
      for (const [name, isRight] of Object.entries(fields)) assert.ok(isRight(data[name]), `${name}: ${data[name]}`);
      assert.equal(data.verification_token, token);
      receiver.payments.set(data.message_id, data);
      response.writeHead(200).end();
    } catch (error) {
      receiver.refused.push(String(error));
      response.writeHead(400).end();
    }
  };
  return receiver;
}
