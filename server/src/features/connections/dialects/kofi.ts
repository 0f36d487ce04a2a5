/**
 * Ko-fi's webhook (https://ko-fi.com/manage/webhooks): a form with one field `data`, which is JSON. Many bots know it. Ko-fi
 * has no word for a payment that was taken back.
 */
import { displayName, displayText } from '../../../platform/web/browser/text.ts';
import { usualJudge } from '../../webhooks/index.ts';
import { type ConnectionEvent, type Dialect, decimal, type Message, type Recipient, userAgent } from './dialect.ts';

const headers = {
  'content-type': 'application/x-www-form-urlencoded',
  'user-agent': userAgent,
} as const;

const form = (data: object): Message => ({
  headers,
  body: new URLSearchParams({ data: JSON.stringify(data) }).toString(),
});

const write = (event: ConnectionEvent, { pageUrl, verificationToken }: Recipient): Message =>
  form({
    verification_token: verificationToken,
    message_id: event.eventId,
    timestamp: event.at,
    type: 'Donation',
    is_public: true,
    from_name: displayName(event.name),
    message: event.message === null ? null : displayText(event.message),
    amount: decimal(event.amountMinor),
    url: pageUrl,
    email: null,
    currency: 'THB',
    is_subscription_payment: false,
    is_first_subscription_payment: false,
    kofi_transaction_id: event.recordId,
    shop_items: null,
    tier_name: null,
    shipping: null,
  });

export const kofi: Dialect = {
  treatments: ['tip', 'test'],
  write,
  judge: usualJudge,
  isAddress: () => true,
  hasToken: true,
  maxRequests: 4,
  sample: form({
    verification_token: 'a-word-of-your-choice',
    message_id: 'evt_01kaxk2t5v7f9sd3n8q6w4y0zr',
    timestamp: '2026-11-15T04:00:00.000Z',
    type: 'Donation',
    is_public: true,
    from_name: 'สมชาย',
    message: 'สู้ ๆ นะครับ',
    amount: '150.50',
    url: 'https://tips.example/@somsri',
    email: null,
    currency: 'THB',
    is_subscription_payment: false,
    is_first_subscription_payment: false,
    kofi_transaction_id: 'tip_01kaxk2t5v7f9sd3n8q6w4y0zr',
    shop_items: null,
    tier_name: null,
    shipping: null,
  }),
};
