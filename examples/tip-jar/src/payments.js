import { setTimeout as sleep } from 'node:timers/promises';
import { NamjaiError, ReauthorizationRequired } from '@namjai/sdk';
import { randomToken, sha256 } from './secrets.js';
import { waitingMs } from './store.js';

/**
 * The life of a payment: waiting → confirmed → recorded.
 *
 * - Its amount, words and PromptPay id are written once, before the QR code is drawn, and never change.
 * - The creator or the slip-checking service confirms; nothing else does, least of all the supporter.
 * - That it was confirmed is stored before the tip is sent to Namjai, so a crash in between loses nothing: what is
 *   confirmed and not recorded is sent again at the next start and every half minute.
 * - The payment's id is the Idempotency-Key, so sending it again records nothing twice. Namjai keeps keys for 24 hours.
 *   Whatever was first sent longer ago is looked for among the creator's tips before it is sent again.
 */

const keyKeptMs = 23 * 3_600_000;

export function createPayments({ store, oauth, secrets, now = Date.now }) {
  const inFlight = new Map();

  function tipOf({ amount_minor, name, message }) {
    // Namjai wants a name of A-Z; what supporters call themselves is the display name.
    const latin = name
      .toUpperCase()
      .replace(/[^A-Z0-9_ ]/g, '')
      .trim()
      .slice(0, 25);
    return { amount: amount_minor / 100, name: latin.length < 2 ? 'SUPPORTER' : latin, display_name: name, message };
  }

  async function send(payment) {
    const namjai = oauth.as(payment.creator_id);
    if (payment.attempted_at !== null && payment.attempted_at < now() - keyKeptMs) {
      const earlier = await findRecorded(namjai, payment);
      if (earlier) return earlier;
      store.payments.attempt(payment.id);
    }
    if (payment.attempted_at === null) store.payments.attempt(payment.id);
    return await namjai.tips.create(tipOf(payment), { idempotencyKey: payment.id });
  }

  /** The tip of an earlier try whose answer was lost: the same tip, that belongs to no other payment. */
  async function findRecorded(namjai, payment) {
    const { app } = await namjai.me();
    for await (const tip of namjai.tips.list({ from: new Date(payment.attempted_at - 60_000).toISOString() })) {
      const same = tip.amount_minor === payment.amount_minor && tip.display_name === payment.name;
      const ours = tip.source.client_id === app.client_id && tip.message === payment.message;
      if (same && ours && !store.payments.knowsTip(tip.id)) return tip;
    }
    return undefined;
  }

  async function recordOnce(id) {
    const payment = store.payments.get(id);
    if (payment?.state !== 'confirmed') return;
    try {
      const tip = await send(payment);
      store.payments.recorded(id, tip.id);
      if (tip.alert.status === 'skipped') store.alertSettled(tip.id, null);
    } catch (error) {
      if (!(error instanceof NamjaiError)) throw error;
      if (error.status === 422) store.payments.refused(id, error.message);
      else if (error instanceof ReauthorizationRequired) store.creators.mustReconnect(payment.creator_id);
      // Whatever else it is, Namjai is asked again.
      else console.error(`A payment is confirmed and not recorded yet: ${error.message}`);
    }
  }

  /** Sends a confirmed payment to Namjai; calls at once share one try. */
  function record(id) {
    if (!inFlight.has(id))
      inFlight.set(
        id,
        recordOnce(id).finally(() => inFlight.delete(id)),
      );
    return inFlight.get(id);
  }

  return {
    /** Waits a little for the answer of Namjai; what takes longer goes on by itself. */
    recordSoon: (id) => Promise.race([record(id).catch(console.error), sleep(3000, undefined, { ref: false })]),

    async recordAll() {
      for (const { id } of store.payments.unrecorded()) await record(id);
    },

    /** `formKey` is that of the page: the same page sent twice with the same words is one payment. */
    add(creator, { formKey, amountMinor, name, message }) {
      const promptpay = secrets.open(creator.promptpay, creator.id);
      const id = randomToken();
      return store.payments.add({
        id,
        creatorId: creator.id,
        formKey: sha256(JSON.stringify([creator.id, formKey, amountMinor, name, message])),
        ...{ amountMinor, name, message },
        promptpay: secrets.seal(promptpay, creator.id),
      });
    },

    /** What its page tells. */
    stateOf(payment) {
      if (payment.state === 'waiting' && payment.created_at < now() - waitingMs) return 'expired';
      if (payment.state !== 'recorded' || !payment.settled) return payment.state;
      return payment.shown_at ? 'shown' : 'notShown';
    },
  };
}
