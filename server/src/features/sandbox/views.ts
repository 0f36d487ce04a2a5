import {
  badge,
  button,
  card,
  confirm,
  copyable,
  emptyState,
  fold,
  heading,
  linkButton,
  notice,
  rows,
  writtenName,
} from '../../platform/web/blocks.ts';
import type { Times } from '../../platform/web/format.ts';
import { buttonForm, checkbox, field, form, select } from '../../platform/web/forms.ts';
import { type Html, html } from '../../platform/web/html.ts';
import type { Lang } from '../../platform/web/i18n.ts';
import type { AppRow } from '../apps/index.ts';
import { allScopes, type Connection, scopes } from '../oauth/index.ts';
import { home, pathOf } from './paths.ts';
import { mostSandboxes, type SandboxCreator } from './service.ts';
import { type SandboxT, sandboxWords } from './words.ts';

export interface View {
  readonly lang: Lang;
  readonly csrf: string;
  /** Of a form that makes something. */
  readonly key: string;
  readonly baseUrl: string;
  readonly times: Times;
}

export interface TypedName {
  readonly name: string;
  readonly wrong?: string | undefined;
}

export function listView(view: View, creators: readonly SandboxCreator[], typed: TypedName): Html {
  const t = sandboxWords(view.lang);
  const full = creators.length >= mostSandboxes;
  const list = rows(
    creators.map((creator) => {
      const suspended = creator.suspended_at !== null;
      const name = writtenName(creator.display_name);
      return {
        title: suspended ? name : html`<a href="${pathOf(creator)}">!${name}</a>`,
        text: html`<code translate="no">@${creator.username}</code>`,
        aside: html`!${badge(t('sandbox'), 'info')}!${suspended ? badge(t('suspended'), 'warn') : linkButton(t('open'), pathOf(creator))}`,
      };
    }),
  );
  const add = form({
    action: home,
    csrf: view.csrf,
    key: view.key,
    body: html`!${nameField(t, typed, t('nameHint'))}<div class="actions">!${button(t('add'))}</div>`,
  });
  return html`
!${heading({ title: t('title'), intro: t('intro'), actions: linkButton(t('back'), '/developers') })}
!${creators.length === 0 ? emptyState({ alone: true, title: t('emptyTitle'), text: t('emptyText') }) : card({ body: list })}
!${card({ title: t('add'), body: full ? notice('info', t('tooMany', { most: mostSandboxes })) : add })}`;
}

const nameField = (t: SandboxT, { name, wrong }: TypedName, hint?: string): Html =>
  field({ name: 'name', label: t('name'), value: name, maxlength: 80, autocomplete: 'off', hint, error: wrong });

/** Set only right after they were made: they are shown once. */
export interface ShownTokens {
  readonly app: AppRow;
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly minutes: number;
}

export interface Choices {
  readonly holdAll: boolean;
  readonly paused: boolean;
  readonly minimum: string;
  readonly wrong?: string;
}

export interface CreatorView {
  readonly creator: SandboxCreator;
  readonly apps: readonly AppRow[];
  readonly connections: readonly Connection[];
  readonly tokens: ShownTokens | undefined;
  readonly address: string | undefined;
  readonly choices: Choices;
  readonly typed: TypedName;
  /** The console, and what happened. */
  readonly console: Html;
}

/** Whoever has connected no app yet begins with that. */
export function creatorView(view: View, o: CreatorView): Html {
  const t = sandboxWords(view.lang);
  const connecting = html`!${o.tokens ? tokensCard(view, o.tokens) : ''}!${appsCard(view, o)}`;
  return html`
!${heading({ title: o.creator.display_name, actions: linkButton(t('backToList'), home) })}
<p>!${badge(t('sandbox'), 'info')} <code translate="no">@${o.creator.username}</code> <code translate="no">${o.creator.id}</code></p>
!${o.tokens || o.connections.length === 0 ? html`!${connecting}!${o.console}` : html`!${o.console}!${connecting}`}
!${overlayCard(view, o)}
!${card({ title: t('chaos'), intro: t('chaosIntro'), body: html`<div class="actions">!${linkButton(t('chaosOpen'), `${pathOf(o.creator)}/chaos`)}</div>` })}
!${card({ title: t('rehearsal'), intro: t('rehearsalIntro'), body: html`<div class="actions">!${linkButton(t('rehearsalOpen'), `${pathOf(o.creator)}/rehearsal`)}</div>` })}
!${choicesCard(view, o)}
!${card({
    title: t('rename'),
    body: form({
      action: `${pathOf(o.creator)}/name`,
      csrf: view.csrf,
      body: html`!${nameField(t, o.typed)}<div class="actions">!${button(t('save'), { kind: 'plain' })}</div>`,
    }),
  })}
!${removal(view, o.creator)}`;
}

function tokensCard({ lang, baseUrl }: View, { app, accessToken, refreshToken, minutes }: ShownTokens): Html {
  const t = sandboxWords(lang);
  const copy = { copy: t('copy'), copied: t('copied') };
  return card({
    title: t('tokens', { app: app.name }),
    id: 'tokens',
    body: html`!${notice('ok', t('tokensMade', { app: app.name }))}
!${copyable({ id: 'access-token', label: t('accessToken'), value: accessToken, ...copy })}
!${copyable({ id: 'refresh-token', label: t('refreshToken'), value: refreshToken, ...copy })}
<p><strong>${t('tokensShown', { minutes })}</strong></p>
<p>${t('tryIt')}</p><pre class="wrapped"><code translate="no">curl ${baseUrl}/v1/me -H 'Authorization: Bearer ${accessToken}'</code></pre>`,
  });
}

function appsCard(view: View, { creator, apps, connections }: CreatorView): Html {
  const t = sandboxWords(view.lang);
  if (apps.length === 0)
    return card({
      title: t('apps'),
      body: emptyState({
        title: t('noApps'),
        text: t('noAppsText'),
        action: linkButton(t('register'), '/developers/apps/new', 'primary'),
      }),
    });
  const list = apps.map((app) => {
    const connection = connections.find(({ client_id }) => client_id === app.id);
    return {
      title: html`<a href="/developers/apps/${app.id}">!${writtenName(app.name)}</a>`,
      text: html`!${connection ? html`!${badge(t('connected'), 'ok')} ` : ''}!${app.suspended_at === null ? '' : badge(t('suspended'), 'warn')}!${scopesOf(connection)}`,
      aside: html`!${app.suspended_at === null ? connectForm(view, creator, app, connection !== undefined) : ''}!${
        connection ? disconnectForm(view, creator, app) : ''
      }`,
    };
  });
  return card({
    title: t('apps'),
    intro: t('appsIntro'),
    body: html`!${rows(list)}!${chosenScopes(view, creator, apps)}`,
  });
}

const scopesOf = (connection: Connection | undefined): Html[] =>
  (connection?.scope.split(' ') ?? []).map((scope) => html`<code translate="no">${scope || 'GET /v1/me'}</code> `);

const allTicked: Html = html`!${allScopes.map((scope) => html`<input type="hidden" name="scope.${scope}" value="on">`)}`;

function connectForm({ lang, csrf }: View, creator: SandboxCreator, app: AppRow, again: boolean): Html {
  const t = sandboxWords(lang);
  const submit = button(t(again ? 'newTokens' : 'connect'), { kind: again ? 'plain' : 'primary' });
  return form({
    action: `${pathOf(creator)}/connect`,
    csrf,
    body: html`<input type="hidden" name="client_id" value="${app.id}">!${allTicked}!${submit}`,
  });
}

function disconnectForm({ lang, csrf }: View, creator: SandboxCreator, app: AppRow): Html {
  const submit = button(sandboxWords(lang)('disconnect'), { kind: 'plain' });
  return form({
    action: `${pathOf(creator)}/disconnect`,
    csrf,
    body: html`<input type="hidden" name="client_id" value="${app.id}">!${submit}`,
  });
}

function chosenScopes({ lang, csrf }: View, creator: SandboxCreator, apps: readonly AppRow[]): Html {
  const t = sandboxWords(lang);
  const ticks = allScopes.map((scope) =>
    checkbox({ name: `scope.${scope}`, label: scope, hint: scopes[scope].consent[lang][0], checked: true }),
  );
  const options = apps.map(({ id, name }): [string, string] => [id, name]);
  return fold({
    summary: t('chooseScopes'),
    body: form({
      action: `${pathOf(creator)}/connect`,
      csrf,
      body: html`!${select({ name: 'client_id', label: t('app'), options })}
<fieldset><legend>${t('scopes')}</legend>!${ticks}</fieldset>
<div class="actions">!${button(t('connectChosen'), { kind: 'plain' })}</div>`,
    }),
  });
}

function overlayCard({ lang, csrf }: View, { creator, address }: CreatorView): Html {
  const t = sandboxWords(lang);
  const shown =
    address === undefined
      ? buttonForm({ action: `${pathOf(creator)}/address`, csrf, label: t('showAddress'), kind: 'plain', row: true })
      : html`!${copyable({ id: 'overlay-address', label: t('address'), value: address, copy: t('copy'), copied: t('copied') })}
<p class="hint">${t('addressHint')}</p>
<div class="actions"><a class="button plain" href="${address}" target="_blank" rel="noopener">${t('openOverlay')}</a></div>`;
  return card({ title: t('overlay'), intro: t('overlayIntro'), id: 'overlay', body: shown });
}

function choicesCard({ lang, csrf }: View, { creator, choices }: CreatorView): Html {
  const t = sandboxWords(lang);
  return card({
    title: t('settings'),
    id: 'choices',
    body: form({
      action: `${pathOf(creator)}/choices`,
      csrf,
      body: html`
!${checkbox({ name: 'hold_all', label: t('holdAll'), hint: t('holdAllHint'), checked: choices.holdAll })}
!${checkbox({ name: 'paused', label: t('paused'), hint: t('pausedHint'), checked: choices.paused })}
!${field({ name: 'minimum', label: t('minimum'), value: choices.minimum, inputmode: 'decimal', maxlength: 10, error: choices.wrong })}
<div class="actions">!${button(t('save'), { kind: 'plain' })}</div>`,
    }),
  });
}

function removal({ lang, csrf }: View, creator: SandboxCreator): Html {
  const t = sandboxWords(lang);
  const label = t('removeNow', { name: creator.display_name });
  return card({
    title: t('remove'),
    body: confirm({
      summary: t('removeOpen'),
      text: t('removeMeans'),
      action: buttonForm({ action: `${pathOf(creator)}/remove`, csrf, label, kind: 'danger' }),
    }),
  });
}
