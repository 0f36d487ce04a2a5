import { json, page, Refusal, redirect } from './http.js';
import { createLimit } from './limits.js';
import { promptPayText, qrPicture } from './promptpay.js';
import { randomToken } from './secrets.js';
import { paymentPage, tipPage } from './supporter-views.js';

/** What supporters see: the page of a creator, and the page of their payment. */

const minMinor = 100;
const maxMinor = 5_000_000;
const maxWaiting = 200;

export function supporterRoutes({ store, payments, secrets }) {
  const perMinute = createLimit(5, 60_000);
  const perDay = createLimit(50, 86_400_000);

  function creatorOf({ params }) {
    const creator = store.creators.byName(params.username.toLowerCase());
    if (!creator) throw new Refusal(404, 'notFound');
    return creator;
  }

  /** Whoever has the address of a payment may see it; the id cannot be guessed. */
  function paymentOf({ params }) {
    const payment = store.payments.get(params.id);
    if (!payment) throw new Refusal(404, 'notFound');
    return { ...payment, state: payments.stateOf(payment) };
  }

  async function pay(visit) {
    const creator = creatorOf(visit);
    const field = await visit.form();
    const { values, errors } = readTip(field);
    if (!creator.connected || !creator.promptpay) throw new Refusal(409, 'closed');
    if (Object.keys(errors).length > 0)
      return page(tipPage(visit, { creator, values, errors, formKey: field('key') }), 422);
    if (!perMinute(visit.address) || !perDay(visit.address)) throw new Refusal(429, 'tooMany');
    if (store.payments.waiting(creator.id).length >= maxWaiting) throw new Refusal(429, 'tooMany');
    const id = payments.add(creator, { ...values, message: values.message || null, formKey: field('key') });
    return redirect(`/payments/${id}`);
  }

  async function picture(visit) {
    const { state, promptpay, creator_id, amount_minor } = paymentOf(visit);
    if (state !== 'waiting') throw new Refusal(404, 'notFound');
    const body = await qrPicture(promptPayText(secrets.open(promptpay, creator_id), amount_minor));
    return { status: 200, headers: { 'content-type': 'image/png' }, body };
  }

  return [
    [
      'GET',
      '/@:username',
      (visit) => page(tipPage(visit, { creator: creatorOf(visit), values: {}, errors: {}, formKey: randomToken() })),
    ],
    ['POST', '/@:username', pay],
    ['GET', '/payments/:id', (visit) => page(paymentPage(visit, paymentOf(visit)))],
    ['GET', '/payments/:id/state', (visit) => json({ state: paymentOf(visit).state })],
    ['GET', '/payments/:id/qr.png', picture],
  ];
}

/** Something that can be seen. */
const visible = /[^\p{White_Space}\p{Default_Ignorable_Code_Point}\p{M}\p{Cc}\u2800]/u;

/** The rules are those of Namjai, so that what is confirmed can be recorded. */
function readTip(field) {
  const amount = (field('own') || field('amount')).replace(/[,\s฿]/g, '');
  const name = field('name').normalize('NFC').trim();
  const message = field('message').normalize('NFC').replace(/\r\n/g, '\n').trim();
  const amountMinor = /^\d{1,6}(\.\d{1,2})?$/.test(amount) ? Math.round(Number(amount) * 100) : 0;
  const errors = {};
  if (amountMinor < minMinor || amountMinor > maxMinor) errors.amount = 'badAmount';
  if ([...name].length > 40 || !visible.test(name) || /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u.test(name))
    errors.name = 'badName';
  if ([...message].length > 255 || /[^\P{Cc}\n]/u.test(message)) errors.message = 'badMessage';
  return { values: { amount, amountMinor, name, message }, errors };
}
