import { button, notice } from '../../../platform/web/blocks.ts';
import { form } from '../../../platform/web/forms.ts';
import { type Html, html } from '../../../platform/web/html.ts';
import type { Lang } from '../../../platform/web/i18n.ts';
import { type AppRow, appAbout, appLogo } from '../../apps/index.ts';
import { scopeList } from '../scope-views.ts';
import type { AuthorizeRequest } from './checks.ts';
import { words } from './words.ts';

export interface ConsentView {
  readonly lang: Lang;
  readonly request: AuthorizeRequest;
  /** The owner of the app; undefined for an app of the operator. */
  readonly owner: Person | undefined;
  readonly creator: Person;
  /** The app is connected already. */
  readonly again: boolean;
  /** The address of this page, to return to with another account. */
  readonly url: string;
  readonly csrf: string;
  readonly ticket: string;
}

export interface Person {
  readonly displayName: string;
  readonly username: string;
}

const person = ({ displayName, username }: Person): string => `${displayName} (@${username})`;

export function consentPage({ lang, request, owner, creator, again, url, csrf, ticket }: ConsentView): Html {
  const t = words(lang);
  const { app, redirectUri, scopes } = request;
  const isPublic = app.public === 1;
  return html`
<section class="card">
  !${appFace({ lang, app, owner })}
  !${isPublic ? notice('warn', t('publicApp', { app: app.name })) : ''}
  !${again ? notice('info', t(isPublic ? 'againPublic' : 'again')) : ''}
  <p>${t('willBeAble')}</p>
  !${scopeList(scopes, lang)}
  <p>${t('returns')} <strong translate="no">${new URL(redirectUri).host}</strong></p>
  !${decisionForm({ lang, action: '/oauth/authorize', csrf, ticket })}
  <p class="hint">${t('undo')}</p>
  !${otherAccount({ lang, creator, url, csrf })}
</section>`;
}

/** The app, its owner, and what it says about itself. */
export function appFace({ lang, app, owner }: { lang: Lang; app: AppRow; owner: Person | undefined }): Html {
  const t = words(lang);
  return html`
  <div class="app-face">
    !${appLogo(app)}
    <div>
      <h1>${t('question', { app: app.name })}</h1>
      <p class="intro">${owner ? t('by', { owner: person(owner) }) : t('byOperator')}</p>
    </div>
  </div>
  !${appAbout(app, lang)}`;
}

export function decisionForm(o: { lang: Lang; action: string; csrf: string; ticket: string }): Html {
  const t = words(o.lang);
  const body = html`
<input type="hidden" name="request" value="${o.ticket}">
<div class="actions">
  !${button(t('approve'), { name: 'decision', value: 'approve' })}
  !${button(t('deny'), { kind: 'plain', name: 'decision', value: 'deny' })}
</div>`;
  return form({ action: o.action, csrf: o.csrf, body });
}

/** Signs out and comes back to `url`. */
export function otherAccount(o: { lang: Lang; creator: Person; url: string; csrf: string }): Html {
  const t = words(o.lang);
  return form({
    action: `/logout?return_to=${encodeURIComponent(o.url)}`,
    csrf: o.csrf,
    body: html`<p class="hint">${t('signedInAs', { name: person(o.creator) })} <button class="link" type="submit">${t('otherAccount')}</button></p>`,
  });
}
