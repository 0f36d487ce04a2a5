import {
  badge,
  button,
  card,
  confirm,
  emptyState,
  fold,
  linkButton,
  notice,
  rows,
  written,
  writtenName,
} from '../../../platform/web/blocks.ts';
import { dated } from '../../../platform/web/format.ts';
import { buttonForm, field, form } from '../../../platform/web/forms.ts';
import { type Html, html } from '../../../platform/web/html.ts';
import { activityPath } from '../activity/views.ts';
import type { PasskeyRow } from '../passkeys/repo.ts';
import { passkeyNameLength } from '../passkeys/service.ts';
import type { SessionRow } from '../sessions/repo.ts';
import { deviceOf } from './user-agent.ts';
import type { AccountWords } from './words.ts';

export interface View {
  readonly t: AccountWords;
  /** The sign-in is recent enough to change credentials. */
  readonly recent: boolean;
  readonly csrf: string;
  readonly time: (at: number) => Html;
}

export function signInAgainCard(t: AccountWords): Html {
  const action = linkButton(t('recentAction'), '/login?return_to=%2Faccount', 'primary');
  return card({ title: t('recentTitle'), intro: t('recentText'), body: '', actions: action });
}

export const passwordCard = ({ t, csrf }: View, error: string | undefined, username: string): Html =>
  card({
    title: t('passwordTitle'),
    intro: t('passwordIntro'),
    body: form({
      action: '/account/password',
      csrf,
      body: html`
        <input class="visually-hidden" name="username" autocomplete="username" value="${username}" readonly tabindex="-1" aria-hidden="true">
        !${field({ name: 'password', type: 'password', label: t('newPassword'), hint: t('passwordHint'), error, autocomplete: 'new-password', required: true })}
        <div class="actions">!${button(t('changePassword'))}</div>`,
    }),
  });

export function passkeysCard(view: View, passkeys: PasskeyRow[], error: string | undefined): Html {
  const { t, csrf, recent } = view;
  const list = passkeys.length
    ? rows(passkeys.map((passkey) => passkeyRow(view, passkey)))
    : emptyState({ title: t('passkeysEmpty'), text: t('passkeysEmptyText') });
  const add = form({
    action: '/account/passkeys',
    csrf,
    body: html`
      <input type="hidden" name="credential">
      !${field({ name: 'name', id: 'new-passkey', label: t('passkeyName'), hint: t('passkeyNameHint'), error, maxlength: passkeyNameLength })}
      <div class="actions">!${button(t('addPasskey'))}</div>`,
  });
  const adding = html`
    <p class="hint" data-passkey-hint>${t('needsScripts')}</p>
    <div data-passkey="add" data-options="/account/passkeys/options" hidden>
      !${add}
      <p class="error" role="alert" hidden>${t('passkeyFailed')}</p>
    </div>`;
  return card({
    id: 'passkeys',
    title: t('passkeysTitle'),
    intro: t('passkeysIntro'),
    body: html`!${list}!${recent ? adding : ''}`,
  });
}

function passkeyRow({ t, csrf, recent, time }: View, passkey: PasskeyRow) {
  const action = `/account/passkeys/${passkey.id}`;
  const rename = form({
    action: `${action}/name`,
    csrf,
    body: html`
      !${field({ name: 'name', id: `name-${passkey.id}`, label: t('passkeyName'), value: passkey.name, maxlength: passkeyNameLength })}
      <div class="actions">!${button(t('rename'), { kind: 'plain' })}</div>`,
  });
  const remove = confirm({
    summary: t('remove'),
    text: t('removeText'),
    action: buttonForm({ action: `${action}/remove`, csrf, label: t('remove'), kind: 'danger' }),
  });
  const used =
    passkey.last_used_at === null
      ? html`${t('passkeyUnused')}`
      : dated((date) => t('passkeyUsed', { date }), time(passkey.last_used_at));
  return {
    title: writtenName(passkey.name),
    text: html`!${dated((date) => t('passkeyAdded', { date }), time(passkey.created_at))} · !${used}`,
    aside: html`!${fold({ summary: t('rename'), body: rename })}!${recent ? remove : ''}`,
  };
}

export function codesCard({ t, csrf, recent }: View, left: number): Html {
  const make = (label: string, kind: 'primary' | 'danger') =>
    buttonForm({ action: '/account/recovery-codes', csrf, label, kind, row: true });
  const action =
    left === 0
      ? make(t('makeCodes'), 'primary')
      : confirm({ summary: t('replaceCodes'), text: t('replaceText'), action: make(t('replaceCodes'), 'danger') });
  return card({
    id: 'recovery',
    title: t('codesTitle'),
    intro: t('codesIntro'),
    body: html`<p>${left === 0 ? t('codesNone') : t('codesLeft', { count: left })}</p>!${recent ? action : ''}`,
  });
}

export const newCodesCard = (t: AccountWords, codes: readonly string[]): Html =>
  card({
    body: html`
      <h1>${t('codesNew')}</h1>
      !${notice('warn', t('codesOnce'))}
      <pre id="codes" translate="no">${codes.join('\n')}</pre>
      <div class="actions"><button class="button plain" type="button" hidden data-copy="codes" data-copied="${t('copied')}">${t('copy')}</button>!${linkButton(t('codesDone'), '/account', 'primary')}</div>`,
  });

export function sessionsCard(view: View, sessions: SessionRow[], current: string): Html {
  const { t, csrf } = view;
  const action = '/account/sessions/end-others';
  const others = buttonForm({ action, csrf, label: t('endOthers'), kind: 'plain', row: true });
  return card({
    title: t('sessionsTitle'),
    intro: t('sessionsIntro'),
    body: html`
      !${rows(sessions.map((session) => sessionRow(view, session, session.id === current)))}
      !${sessions.length > 1 ? others : ''}`,
  });
}

export const activityCard = (t: AccountWords): Html =>
  card({
    title: t('activityTitle'),
    intro: t('activityIntro'),
    body: '',
    actions: linkButton(t('activityAction'), activityPath),
  });

export const dataCard = (t: AccountWords): Html =>
  card({
    id: 'data',
    title: t('dataTitle'),
    intro: t('dataIntro'),
    body: '',
    actions: linkButton(t('dataAction'), '/account/data'),
  });

const methods = ['password', 'passkey', 'recovery', 'signup'] as const;

function sessionRow({ t, csrf, time }: View, session: SessionRow, current: boolean) {
  const method = methods.find((each) => each === session.method) ?? 'password';
  const action = `/account/sessions/${session.id}/end`;
  const end = buttonForm({ action, csrf, label: t('endSession'), kind: 'plain' });
  return {
    title: written(deviceOf(session.user_agent) || t('unknownDevice')),
    text: html`!${dated((date) => t('signedInAt', { date }), time(session.signed_in_at))} ${t(`method_${method}`)}<br>!${dated((date) => t('lastSeen', { date }), time(session.last_seen_at))}${session.address === '' ? '' : ` · ${session.address}`}`,
    aside: current ? badge(t('thisSession'), 'ok') : end,
  };
}
