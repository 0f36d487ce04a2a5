import { AccessDenied, OAuthError } from '@namjai/sdk/oauth';
import { jarPage, jarState, welcomePage } from './creator-views.js';
import { json, page, Refusal, redirect } from './http.js';
import { createLimit } from './limits.js';
import { readPromptPay } from './promptpay.js';
import { randomToken, sameText, sha256 } from './secrets.js';

/** What creators do: connect their account of Namjai, set their PromptPay id, confirm what came. */

export function creatorRoutes({ store, payments, secrets, oauth }) {
  const connects = createLimit(20, 60_000);

  const creatorOf = (visit) => {
    const token = visit.cookie('session');
    return token === undefined ? undefined : store.sessions.creator(sha256(token));
  };

  /** Signs in by Namjai. The cookie ties the way back to this browser; the SDK keeps and compares the state. */
  async function connect(visit) {
    if (!connects(visit.address)) throw new Refusal(429, 'tooMany');
    const known = visit.cookie('sign-in');
    const signIn = /^[\w-]{32}$/.test(known) ? known : randomToken(); // two tabs share it
    visit.setCookie('sign-in', signIn, 3600);
    return redirect((await oauth.authorize(signIn)).url);
  }

  async function callback(visit) {
    const signIn = visit.cookie('sign-in');
    if (!signIn) return redirect('/');
    try {
      const { creatorId } = await oauth.callback(signIn, visit.url);
      store.creators.connect(await oauth.as(creatorId).me());
      // A new session: whatever cookie this browser had before means nothing from now on.
      store.sessions.remove(sha256(visit.cookie('session') ?? ''));
      const session = randomToken();
      store.sessions.add(sha256(session), creatorId);
      visit.setCookie('session', session, 30 * 86_400);
    } catch (error) {
      if (error instanceof AccessDenied) return redirect('/');
      if (error instanceof OAuthError) throw new Refusal(400, 'notConnected');
      throw error;
    } finally {
      visit.setCookie('sign-in', '', 0);
    }
    payments.recordAll().catch(console.error);
    return redirect('/jar');
  }

  /** A form of a signed-in creator: with this session's token, from our own page. */
  const change = (handle) => async (visit) => {
    const field = await visit.form();
    const creator = creatorOf(visit);
    if (!creator) throw new Refusal(403, 'signedOut');
    if (!sameText(field('token'), secrets.formToken(visit.cookie('session')))) throw new Refusal(403, 'badForm');
    return (await handle(visit, creator, field)) ?? redirect('/jar');
  };

  const listsOf = (creator) => ({
    waiting: store.payments.waiting(creator.id),
    confirmed: store.payments
      .confirmed(creator.id)
      .map((payment) => ({ ...payment, state: payments.stateOf(payment) })),
  });

  function showJar(visit, creator, problem = null) {
    const promptpay = creator.promptpay && secrets.open(creator.promptpay, creator.id);
    const token = secrets.formToken(visit.cookie('session'));
    return jarPage(visit, { creator, promptpay, problem, token, ...listsOf(creator) });
  }

  /** A page of a signed-in creator. */
  const show = (view) => (visit) => {
    const creator = creatorOf(visit);
    return creator ? view(visit, creator) : redirect('/');
  };

  /** Of somebody else's payment this knows nothing. */
  function ownPayment(visit, creator) {
    const payment = store.payments.get(visit.params.id);
    if (payment?.creator_id !== creator.id) throw new Refusal(404, 'notFound');
    return payment;
  }

  return [
    ['GET', '/', (visit) => (creatorOf(visit) ? redirect('/jar') : page(welcomePage(visit)))],
    ['GET', '/connect', connect],
    ['GET', '/callback', callback],
    ['GET', '/jar', show((visit, creator) => page(showJar(visit, creator)))],
    ['GET', '/jar/state', show((_visit, creator) => json({ state: jarState(listsOf(creator)) }))],
    [
      'POST',
      '/jar/promptpay',
      change((visit, creator, field) => {
        const promptpay = readPromptPay(field('promptpay'));
        if (!promptpay) return page(showJar(visit, creator, 'badPromptPay'), 422);
        store.creators.setPromptPay(creator.id, secrets.seal(promptpay, creator.id));
      }),
    ],
    [
      'POST',
      '/jar/payments/:id/confirm',
      change(async (visit, creator) => {
        const { id } = ownPayment(visit, creator);
        if (!store.payments.confirm({ id, creatorId: creator.id, by: 'creator' }))
          return page(showJar(visit, creator, 'alreadyConfirmed'), 409);
        await payments.recordSoon(id);
      }),
    ],
    [
      'POST',
      '/jar/payments/:id/dismiss',
      change((visit, creator) => {
        store.payments.dismiss(ownPayment(visit, creator).id, creator.id);
      }),
    ],
    [
      'POST',
      '/jar/sign-out',
      change((visit) => {
        store.sessions.remove(sha256(visit.cookie('session')));
        return redirect('/');
      }),
    ],
    [
      'POST',
      '/jar/disconnect',
      change(async (_visit, creator) => {
        await oauth.disconnect(creator.id);
        store.creators.disconnect(creator.id);
        return redirect('/');
      }),
    ],
  ];
}
