import { button, notice } from '../../../platform/web/blocks.ts';
import { form } from '../../../platform/web/forms.ts';
import { type Html, html } from '../../../platform/web/html.ts';
import type { Lang } from '../../../platform/web/i18n.ts';
import { appAbout, appLogo } from '../../apps/index.ts';
import { scopeList } from '../scopes.ts';
import type { AuthorizeRequest } from './checks.ts';
import { words } from './words.ts';

export interface ConsentView {
  readonly lang: Lang;
  readonly request: AuthorizeRequest;
  /** The owner of the app; undefined for an app of the operator. */
  readonly owner: { displayName: string; username: string } | undefined;
  readonly creator: { displayName: string; username: string };
  /** The app is connected already. */
  readonly again: boolean;
  /** The address of this page, to return to with another account. */
  readonly url: string;
  readonly csrf: string;
  readonly ticket: string;
}

const person = ({ displayName, username }: { displayName: string; username: string }): string =>
  `${displayName} (@${username})`;

export function consentPage({ lang, request, owner, creator, again, url, csrf, ticket }: ConsentView): Html {
  const t = words(lang);
  const { host } = new URL(request.redirectUri);
  const publicApp = request.app.public === 1;
  const decision = html`
<input type="hidden" name="request" value="${ticket}">
<div class="actions">
  !${button(t('approve'), { name: 'decision', value: 'approve' })}
  !${button(t('deny'), { kind: 'plain', name: 'decision', value: 'deny' })}
</div>`;
  const otherAccount = form({
    action: `/logout?return_to=${encodeURIComponent(url)}`,
    csrf,
    body: html`<p class="hint">${t('signedInAs', { name: person(creator) })} <button class="link" type="submit">${t('otherAccount')}</button></p>`,
  });
  return html`
<section class="card">
  <div class="app-face">
    !${appLogo(request.app)}
    <div>
      <h1>${t('question', { app: request.app.name })}</h1>
      <p class="intro">${owner ? t('by', { owner: person(owner) }) : t('byOperator')}</p>
    </div>
  </div>
  !${appAbout(request.app, lang)}
  !${publicApp ? notice('warn', t('publicApp', { app: request.app.name })) : ''}
  !${again ? notice('info', t(publicApp ? 'againPublic' : 'again')) : ''}
  <p>${t('willBeAble')}</p>
  !${scopeList(request.scopes, lang)}
  <p>${t('returns')} <strong translate="no">${host}</strong></p>
  !${form({ action: '/oauth/authorize', csrf, body: decision })}
  <p class="hint">${t('undo')}</p>
  !${otherAccount}
</section>`;
}
