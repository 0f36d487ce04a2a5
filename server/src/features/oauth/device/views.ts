import { button, definitions, linkButton, notice } from '../../../platform/web/blocks.ts';
import { field, form } from '../../../platform/web/forms.ts';
import { type Html, html } from '../../../platform/web/html.ts';
import type { Lang } from '../../../platform/web/i18n.ts';
import type { AppRow } from '../../apps/index.ts';
import { appFace, decisionForm, otherAccount, type Person } from '../authorize/views.ts';
import { words as consentWords } from '../authorize/words.ts';
import { scopeList } from '../scope-views.ts';
import type { Scope } from '../scopes.ts';
import { words } from './words.ts';

export interface CodeView {
  readonly lang: Lang;
  readonly csrf: string;
  readonly typed: string;
  readonly error?: string;
}

export function codePage({ lang, csrf, typed, error }: CodeView): Html {
  const t = words(lang);
  const body = html`
!${field({ name: 'user_code', label: t('code'), hint: t('codeHint'), value: typed, error, required: true, maxlength: 20, autocomplete: 'off', capitals: true, autofocus: true })}
<div class="actions">!${button(t('next'))}</div>`;
  return html`
<section class="card">
  <div>
    <h1>${t('title')}</h1>
    <p class="intro">${t('intro')}</p>
  </div>
  !${form({ action: '/device', csrf, body })}
</section>`;
}

export interface DeviceConsentView {
  readonly lang: Lang;
  readonly app: AppRow;
  readonly owner: Person | undefined;
  readonly creator: Person;
  readonly again: boolean;
  readonly scopes: readonly Scope[];
  readonly userCode: string;
  /** From where the device asked. */
  readonly address: string;
  /** `null`: the address tells nothing, for instance because it is that of a proxy. */
  readonly sameNetwork: boolean | null;
  readonly asked: Html;
  readonly csrf: string;
  readonly ticket: string;
}

export function consentPage(view: DeviceConsentView): Html {
  const { lang, app, csrf } = view;
  const t = words(lang);
  const c = consentWords(lang);
  const isPublic = app.public === 1;
  return html`
<section class="card">
  !${appFace({ lang, app, owner: view.owner })}
  <p class="device-code" translate="no">${view.userCode}</p>
  !${notice('warn', t('yourOwn'))}
  !${definitions([
    [t('asked'), view.asked],
    [t('from'), html`<span translate="no">${view.address}</span>`],
  ])}
  !${view.sameNetwork === null ? '' : html`<p class="hint">${t(view.sameNetwork ? 'sameNetwork' : 'otherNetwork')}</p>`}
  !${isPublic ? html`<p>${c('publicApp', { app: app.name })}</p>` : ''}
  !${view.again ? notice('info', c(isPublic ? 'againPublic' : 'again')) : ''}
  <p>${c('willBeAble')}</p>
  !${scopeList(view.scopes, lang)}
  !${decisionForm({ lang, action: '/device/decision', csrf, ticket: view.ticket })}
  <p class="hint">${c('undo')}</p>
  !${otherAccount({ lang, creator: view.creator, url: `/device?user_code=${view.userCode}`, csrf })}
</section>`;
}

export function donePage({ lang, app, approved }: { lang: Lang; app: AppRow; approved: boolean }): Html {
  const t = words(lang);
  const text = approved ? t('approvedText') : t('deniedText');
  return html`
<section class="card">
  <h1>${t(approved ? 'approvedTitle' : 'deniedTitle', { app: app.name })}</h1>
  !${notice(approved ? 'ok' : 'info', text)}
  <div class="actions">!${linkButton(t('connections'), '/dashboard/apps')}</div>
</section>`;
}
