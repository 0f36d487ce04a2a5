import { html } from './html.js';
import { layout } from './layout.js';
import { maskPromptPay } from './promptpay.js';
import { baht, timeIn } from './words.js';

export function welcomePage(visit) {
  const { t } = visit;
  return layout(visit, {
    title: t.welcomeTitle,
    body: html`<h1>${t.welcomeTitle}</h1>
<p class="lead">${t.welcomeText}</p>
<ol class="steps">${t.welcomeSteps.map((step) => html`<li>${step}</li>`)}</ol>
<p><a class="button primary" href="/connect">${t.connect}</a></p>
<p class="quiet">${t.welcomeTrust}</p>`,
  });
}

export function jarPage(visit, { creator, promptpay, problem, token, waiting, confirmed }) {
  const { t, url } = visit;
  const address = `${url.origin}/@${creator.username}`;
  const form = (action, content) =>
    html`<form method="post" action="/jar/${action}"><input type="hidden" name="token" value="${token}">${content}</form>`;
  const body = html`<h1>${t.yourJar}</h1>
${problem === 'alreadyConfirmed' && html`<p class="error" role="alert">${t.alreadyConfirmed}</p>`}
${!creator.connected && html`<p class="error" role="alert">${t.reconnect} <a href="/connect">${t.connect}</a></p>`}
${promptpay && html`<section><h2>${t.yourPage}</h2><p><a href="${address}">${address}</a></p></section>`}
${promptpay && waitingSection(visit, form, waiting)}
${promptPaySection(t, form, promptpay, problem === 'badPromptPay')}
${promptpay && confirmedSection(visit, confirmed)}
<footer>${form('sign-out', html`<button class="plain">${t.signOut}</button>`)}
<details><summary>${t.disconnect}</summary><p>${t.disconnectText}</p>
${form('disconnect', html`<button class="plain">${t.disconnect}</button>`)}</details></footer>`;
  return layout(visit, { title: t.yourJar, body, watch: '/jar/state', state: jarState({ waiting, confirmed }) });
}

/** Changes whenever the page would. */
export const jarState = ({ waiting, confirmed }) =>
  [waiting.length, waiting[0]?.id, ...confirmed.map(({ state }) => state)].join();

function promptPaySection(t, form, promptpay, wrong) {
  const field = form(
    'promptpay',
    html`<label>${t.promptPayLabel}
<input name="promptpay" inputmode="numeric" autocomplete="off" required maxlength="30"${wrong && html` aria-invalid="true" aria-describedby="promptpay-error"`}></label>
${wrong && html`<p class="error" id="promptpay-error">${t.badPromptPay}</p>`}
<button>${t.save}</button>`,
  );
  return html`<section class="card"><h2>${t.promptPayTitle}</h2>
${promptpay && html`<p>${maskPromptPay(promptpay)}</p>`}
${promptpay && !wrong ? html`<details><summary>${t.change}</summary><p>${t.promptPayText}</p>${field}</details>` : html`<p>${t.promptPayText}</p>${field}`}
</section>`;
}

function waitingSection({ t, language }, form, waiting) {
  const card = (payment) => html`<li class="card">
<p class="amount">${baht(payment.amount_minor)}</p>
<p><b><bdi>${payment.name}</bdi></b> <small>${timeIn(language, payment.created_at)}</small></p>
${payment.message && html`<p><bdi>${payment.message}</bdi></p>`}
<div class="choice">${form(`payments/${payment.id}/confirm`, html`<button>${t.confirm(baht(payment.amount_minor))}</button>`)}
${form(`payments/${payment.id}/dismiss`, html`<button class="plain">${t.dismiss}</button>`)}</div></li>`;
  return html`<section><h2>${t.waitingTitle}</h2>
<p class="quiet">${waiting.length > 0 ? t.waitingText : t.waitingNone}</p>
<ul class="cards">${waiting.map(card)}</ul></section>`;
}

function confirmedSection({ t, language }, confirmed) {
  const row = (payment) => html`<li><b>${baht(payment.amount_minor)}</b> <bdi>${payment.name}</bdi>
<small>${timeIn(language, payment.confirmed_at)} · ${t.jarStates[payment.state]} ${payment.problem}</small></li>`;
  return html`<section><h2>${t.confirmedTitle}</h2>
${confirmed.length > 0 ? html`<ul class="rows">${confirmed.map(row)}</ul>` : html`<p class="quiet">${t.confirmedNone}</p>`}</section>`;
}
