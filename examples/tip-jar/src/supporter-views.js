import { html } from './html.js';
import { layout } from './layout.js';
import { waitingMs } from './store.js';
import { baht, timeIn } from './words.js';

const presets = ['20', '50', '100', '500'];

export function tipPage(visit, { creator, values, errors, formKey }) {
  const { t } = visit;
  const title = t.tipFor(creator.display_name);
  if (!creator.connected || !creator.promptpay)
    return layout(visit, { title, body: html`<h1><bdi>${title}</bdi></h1><p>${t.closed}</p>` });
  const own = values.amount && !presets.includes(values.amount) ? values.amount : '';
  const chosen = values.amount || '50';
  const error = (field) => errors[field] && html`<p class="error" id="${field}-error">${t[errors[field]]}</p>`;
  const invalid = (field) => errors[field] && html` aria-invalid="true" aria-describedby="${field}-error"`;
  const body = html`<h1><bdi>${title}</bdi></h1>
<form method="post" class="card">
<input type="hidden" name="key" value="${formKey}">
<fieldset><legend>${t.amount}</legend>
<div class="amounts">${presets.map(
    (amount) =>
      html`<label><input type="radio" name="amount" value="${amount}"${!own && amount === chosen && html` checked`}><span>฿${amount}</span></label>`,
  )}</div>
<label>${t.ownAmount} <small>${t.optional}</small>
<input name="own" inputmode="decimal" autocomplete="off" maxlength="10" value="${own}"${invalid('amount')}></label>
${error('amount')}</fieldset>
<label>${t.name}
<input name="name" required maxlength="80" autocomplete="nickname" value="${values.name}"${invalid('name')}></label>
${error('name')}
<label>${t.message} <small>${t.optional}</small>
<textarea name="message" rows="3" maxlength="510"${invalid('message')}>${values.message}</textarea></label>
${error('message')}
<button>${t.showQr}</button>
<p class="quiet">${t.publicNote(creator.display_name)}</p>
</form>`;
  return layout(visit, { title, body });
}

const doneSteps = {
  waiting: 0,
  dismissed: 0,
  expired: 0,
  confirmed: 2,
  refused: 2,
  recorded: 3,
  notShown: 3,
  shown: 4,
};

export function paymentPage(visit, payment) {
  const { t } = visit;
  const { state, creator_name: name } = payment;
  const [heading, text] = t.states[state];
  const live = state === 'waiting' || state === 'confirmed' || state === 'recorded';
  const current = live ? doneSteps[state] : -1;
  const step = (words, index) =>
    html`<li class="${index < doneSteps[state] ? 'done' : ''}"${index === current && html` aria-current="step"`}>${words}</li>`;
  const body = html`
${state === 'waiting' ? qrCode(visit, payment) : html`<h1>${heading}</h1><p class="lead"><bdi>${text(name)}</bdi></p>`}
<ol class="steps">${t.steps(name).map(step)}</ol>
${state === 'waiting' && html`<p role="status"><b>${heading}.</b> <bdi>${text(name)}</bdi></p>`}
${payment.confirmed_at !== null && receipt(visit, payment)}
${live ? html`<p class="quiet">${t.updates}</p>` : html`<p><a class="button" href="/@${payment.username}">${t.sendAnother}</a></p>`}`;
  return layout(visit, { title: heading, body, state, refresh: live, watch: live && `/payments/${payment.id}/state` });
}

function qrCode({ t, language }, { id, amount_minor, creator_name, created_at }) {
  const amount = baht(amount_minor);
  const picture = `/payments/${id}/qr.png`;
  return html`<h1><bdi>${t.scan(amount, creator_name)}</bdi></h1>
<figure class="card qr"><img src="${picture}" alt="${t.qrAlt(amount)}" width="260" height="260">
<figcaption><strong>${amount}</strong> PromptPay</figcaption></figure>
<p>${t.scanText}</p>
<p><a class="button" href="${picture}" download="promptpay.png">${t.savePicture}</a></p>
<p class="quiet">${t.validUntil(timeIn(language, created_at + waitingMs))}</p>`;
}

/** Only of what was confirmed. */
function receipt({ t, language }, payment) {
  const rows = [
    [t.receiptTo, payment.creator_name],
    [t.receiptFrom, payment.name],
    payment.message && [t.message, payment.message],
    [t.receiptConfirmed, timeIn(language, payment.confirmed_at)],
    payment.shown_at && [t.receiptShown, timeIn(language, payment.shown_at)],
    payment.tip_id && [t.receiptTip, payment.tip_id],
  ];
  return html`<section class="card receipt"><h2>${t.receipt}</h2><p class="amount">${baht(payment.amount_minor)}</p>
<dl>${rows.map((row) => row && html`<div><dt>${row[0]}</dt><dd><bdi>${row[1]}</bdi></dd></div>`)}</dl></section>`;
}
