import {
  badge,
  button,
  card,
  confirm,
  copyable,
  emptyState,
  heading,
  linkButton,
  notice,
  rows,
  writtenName,
} from '../../platform/web/blocks.ts';
import type { Times } from '../../platform/web/format.ts';
import { buttonForm, checkbox, field, form, textArea } from '../../platform/web/forms.ts';
import { type Html, html } from '../../platform/web/html.ts';
import type { Lang } from '../../platform/web/i18n.ts';
import { linkLength } from '../../platform/web/links.ts';
import type { Zone } from '../../platform/zone.ts';
import { type AppRow, type DetailProblem, longestDescription, redirectUrisOf } from '../apps/index.ts';
import { authorizeExample, deviceExample, exchangeExample, placeholderApp } from './examples.ts';
import { problemText, words } from './words.ts';

export interface View {
  readonly lang: Lang;
  readonly csrf: string;
  /** Of a form that makes something. */
  readonly key: string;
  readonly authUrl: string;
  readonly baseUrl: string;
  readonly development: boolean;
  readonly times: Times;
  readonly zone: Zone;
  readonly now: number;
}

/** The fields as typed, with their problems. */
export interface Typed {
  readonly name: string;
  readonly description: string;
  readonly homepage: string;
  readonly privacy: string;
  readonly redirectUris: string;
  readonly publicApp: boolean;
  readonly problems?: readonly DetailProblem[];
}

/** Lines may end between the parts of an address, so that none ends within a word. */
export const code = (text: string): Html => {
  const parts = text.split(/(?=[?&])|(?<=[/,])/).map((part) => html`${part}<wbr>`);
  return html`<pre class="wrapped"><code translate="no">!${parts}</code></pre>`;
};

export function listPage(view: View, apps: readonly AppRow[]): Html {
  const t = words(view.lang);
  const register = linkButton(t('register'), '/developers/apps/new', 'primary');
  const sandbox = linkButton(t('sandbox'), '/developers/sandbox');
  if (apps.length === 0)
    return html`!${heading({ title: t('title'), intro: t('intro'), actions: sandbox })}
!${emptyState({ alone: true, title: t('emptyTitle'), text: t('emptyText'), action: html`!${code(authorizeExample(view.authUrl, placeholderApp))}!${register}` })}`;
  const list = rows(
    apps.map((app) => ({
      title: html`<a href="/developers/apps/${app.id}">!${writtenName(app.name)}</a>`,
      text: html`<code translate="no">${app.id}</code>`,
      aside: html`!${app.public === 1 ? badge(t('public')) : ''}!${app.suspended_at === null ? '' : badge(t('suspended'), 'warn')}`,
    })),
  );
  return html`!${heading({ title: t('title'), intro: t('intro'), actions: html`!${sandbox}!${register}` })}!${card({ body: list })}`;
}

export function registerPage(view: View, typed: Typed, tooMany?: string): Html {
  const t = words(view.lang);
  return html`!${heading({ title: t('register'), intro: t('registerIntro') })}
!${tooMany ? notice('error', tooMany) : ''}
!${card({ body: detailsForm(view, '/developers/apps', t('register'), typed, true) })}`;
}

export interface AppPage {
  readonly typed: Typed;
  /** Set only right after the secret was created: it is shown once. */
  readonly secret: { readonly value: string; readonly text: string } | undefined;
  /** The sealed change of the form that makes a new secret. */
  readonly secretChange: string;
  readonly ownToken: Html;
  readonly webhooks: Html;
  readonly creators: Html;
  readonly trace: Html;
  readonly failures: Html;
  readonly logo: Html;
}

export function appPage(view: View, app: AppRow, o: AppPage): Html {
  const t = words(view.lang);
  const { typed, secret } = o;
  return html`
!${heading({ title: app.name, actions: linkButton(t('back'), '/developers') })}
!${app.suspended_at === null ? '' : notice('warn', t('suspendedText'))}
!${secret ? notice('ok', secret.text) : ''}
!${credentials(view, app, secret?.value, o.secretChange)}
!${o.ownToken}
!${nextSteps(view, app)}
!${o.webhooks}
!${o.creators}
!${o.trace}
!${o.failures}
!${card({ title: t('details'), body: detailsForm(view, `/developers/apps/${app.id}`, t('save'), typed) })}
!${o.logo}
!${removal(view, app)}`;
}

function credentials(view: View, app: AppRow, secret: string | undefined, secretChange: string): Html {
  const t = words(view.lang);
  const copyWords = { copy: t('copy'), copied: t('copied') };
  const clientId = copyable({ id: 'client-id', label: t('clientId'), value: app.id, ...copyWords });
  if (app.public === 1)
    return card({ title: t('credentials'), body: html`!${clientId}<p class="hint">${t('publicHint')}</p>` });
  const old =
    app.old_secret_until !== null && app.old_secret_until > view.now
      ? html`<p class="hint">${t('oldSecret')} !${view.times.time(new Date(app.old_secret_until), view.lang)}</p>`
      : '';
  const make = confirm({
    summary: t('newSecret'),
    text: t('newSecretMeans'),
    action: form({
      action: `/developers/apps/${app.id}/secret`,
      csrf: view.csrf,
      body: html`<input type="hidden" name="change" value="${secretChange}">!${button(t('newSecretNow'), { kind: 'danger' })}`,
    }),
  });
  const shown = secret
    ? html`!${copyable({ id: 'client-secret', label: t('clientSecret'), value: secret, ...copyWords })}
<p><strong>${t('secretShown')}</strong></p>!${old}`
    : html`<p class="hint">${t('secretHint')}</p>!${old}!${make}`;
  return card({
    title: t('credentials'),
    body: html`!${clientId}!${shown}`,
  });
}

function nextSteps(view: View, app: AppRow): Html {
  const t = words(view.lang);
  if (app.public === 1)
    return card({
      title: t('next'),
      body: html`<p>${t('nextPublic')}</p>!${code(deviceExample(view.baseUrl, app.id))}
<div class="actions">!${linkButton(t('devicesGuide'), '/docs/oauth')}</div>`,
    });
  const example = { clientId: app.id, redirectUri: redirectUrisOf(app)[0] ?? placeholderApp.redirectUri };
  const address = authorizeExample(view.authUrl, example);
  return card({
    title: t('next'),
    body: html`<p>${t('nextIntro')}</p>!${code(address)}
<div class="actions">!${linkButton(t('tryIt'), address)}</div>
<p>${t('exchange')}</p>!${code(exchangeExample(view.baseUrl, example))}`,
  });
}

function detailsForm(view: View, action: string, submit: string, typed: Typed, isNew = false): Html {
  const t = words(view.lang);
  const problem = (name: DetailProblem['field']) => problemText(typed.problems ?? [], name, view.lang);
  const fields = html`
!${field({ name: 'name', label: t('name'), value: typed.name, maxlength: 200, required: true, autocomplete: 'off', error: problem('name') })}
!${textArea({
    name: 'description',
    label: t('description'),
    hint: t('descriptionHint', { most: longestDescription }),
    value: typed.description,
    rows: 2,
    maxlength: longestDescription * 2,
    error: problem('description'),
  })}
!${isNew ? checkbox({ name: 'public', label: t('publicApp'), hint: t('publicAppHint'), checked: typed.publicApp }) : ''}
!${textArea({
    name: 'redirect_uris',
    label: t('redirectUris'),
    hint: t(view.development ? 'redirectHintDevelopment' : 'redirectHint'),
    value: typed.redirectUris,
    required: !isNew && !typed.publicApp,
    rows: 3,
    error: problem('redirectUris'),
  })}
!${field({ name: 'homepage', type: 'url', label: t('homepage'), hint: t('linkHint'), value: typed.homepage, maxlength: linkLength, error: problem('homepage') })}
!${field({ name: 'privacy', type: 'url', label: t('privacy'), hint: t('linkHint'), value: typed.privacy, maxlength: linkLength, error: problem('privacy') })}
<div class="actions">!${button(submit)}</div>`;
  return form({ action, csrf: view.csrf, key: view.key, body: fields });
}

function removal(view: View, app: AppRow): Html {
  const t = words(view.lang);
  return card({
    title: t('remove'),
    body: confirm({
      summary: t('removeOpen'),
      text: t('removeMeans'),
      action: buttonForm({
        action: `/developers/apps/${app.id}/delete`,
        csrf: view.csrf,
        label: t('removeNow', { app: app.name }),
        kind: 'danger',
      }),
    }),
  });
}
