import { createWebhookHandler, verifyWebhook, WebhookError } from '@namjai/sdk/webhooks';
import { json, readBody } from './http.js';
import { createLimit } from './limits.js';

/** What other servers tell: Namjai by its webhook, and a slip-checking service. */
export function callbackRoutes({ store, oauth, payments, secrets, settings }) {
  const webhooks = createWebhookHandler({
    secret: settings.webhookSecret,
    on: {
      'alert.shown': ({ data }) => data.tip_id && store.alertSettled(data.tip_id, data.shown_at),
      'alert.skipped': ({ data }) => data.tip_id && store.alertSettled(data.tip_id, null),
      'grant.revoked': async ({ data, created_at }) => {
        // A delivery can be late, and the creator connected again meanwhile.
        if (store.creators.connectedSince(data.creator_id) > Date.parse(created_at)) return;
        await oauth.disconnect(data.creator_id);
        store.creators.disconnect(data.creator_id);
      },
    },
  });
  const wrongSlips = createLimit(30, 60_000);

  /**
   * A slip-checking service has seen that the money came: `{ payment_id, amount, receiver, reference }`, signed with
   * SLIP_SECRET by Standard Webhooks. The signature is not enough: amount and receiver must be those of the payment, and
   * the bank's reference of one transfer confirms one payment only. The same callback again changes nothing.
   */
  async function slip(visit) {
    if (!settings.slipSecret) return json({ error: 'not_found' }, 404);
    let told;
    try {
      const body = await readBody(visit.request);
      told = await verifyWebhook({ secret: settings.slipSecret, headers: visit.request.headers, body });
    } catch (error) {
      if (!(error instanceof WebhookError)) throw error;
      return json({ error: error.code }, wrongSlips(visit.address) ? 400 : 429);
    }
    const { payment_id, amount, receiver, reference } = told;
    const payment = store.payments.get(String(payment_id));
    if (!payment) return json({ error: 'not_found' }, 404);
    if (typeof reference !== 'string' || reference === '') return json({ error: 'reference_missing' }, 422);
    const used = store.payments.bySlip(reference);
    if (used && used.id !== payment.id) return json({ error: 'slip_used' }, 409);
    if (!used) {
      const expected = payment.promptpay && secrets.open(payment.promptpay, payment.creator_id);
      if (amount !== payment.amount_minor / 100) return json({ error: 'other_amount' }, 422);
      if (receiver !== expected) return json({ error: 'other_receiver' }, 422);
      const slip = { id: payment.id, creatorId: payment.creator_id, by: 'slip', reference };
      if (!store.payments.confirm(slip) && !store.payments.addSlip(payment.id, reference))
        return json({ error: 'already_confirmed' }, 409);
    }
    await payments.recordSoon(payment.id);
    return json({ state: store.payments.get(payment.id).state });
  }

  return [
    ['POST', '/webhooks', ({ request, response }) => webhooks.node(request, response)],
    ['POST', '/slips', slip],
  ];
}
