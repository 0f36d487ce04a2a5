import { button, card, copyable, notice } from '../../platform/web/blocks.ts';
import { checkbox, form } from '../../platform/web/forms.ts';
import { type Html, html } from '../../platform/web/html.ts';
import type { AppRow } from '../apps/index.ts';
import { allScopes, knownScopes, scopes } from '../oauth/index.ts';
import { accessWords as words } from './access-words.ts';
import { meExample } from './examples.ts';
import { code, type View } from './views.ts';

/** `granted`: the scopes of the live grant, if there is one. `token` is set only right after it was made. */
export function ownTokenCard(
  { lang, csrf, baseUrl }: View,
  app: AppRow,
  granted: string | undefined,
  token?: { value: string; minutes: number },
): Html {
  if (app.suspended_at !== null) return '';
  const t = words(lang);
  if (token)
    return card({
      title: t('ownToken'),
      id: 'own-token',
      body: html`!${notice('ok', t('made'))}
!${copyable({ id: 'access-token', label: t('token'), value: token.value, copy: t('copy'), copied: t('copied') })}
<p><strong>${t('tokenShown', { minutes: token.minutes })}</strong></p>
<p>${t('tryIt')}</p>!${code(meExample(baseUrl, token.value))}<p class="hint">${t('disconnect')}</p>`,
    });
  // A new token of a public app changes no other token.
  const replaced = app.public === 1 ? undefined : granted;
  const ticked = replaced === undefined ? allScopes : knownScopes(replaced);
  const fields = allScopes.map((scope) =>
    checkbox({
      name: `scope.${scope}`,
      label: scope,
      hint: scopes[scope].consent[lang][0],
      checked: ticked.includes(scope),
    }),
  );
  return card({
    title: t('ownToken'),
    intro: t('ownTokenIntro'),
    id: 'own-token',
    body: form({
      action: `/developers/apps/${app.id}/token`,
      csrf,
      body: html`<fieldset><legend>${t('scopes')}</legend>!${fields}</fieldset>
!${replaced === undefined ? '' : html`<p class="hint">${t('scopesReplace')}</p>`}
<div class="actions">!${button(t('make'), { kind: 'plain' })}</div>`,
    }),
  });
}
