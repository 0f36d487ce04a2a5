import { button, card } from '../../../platform/web/blocks.ts';
import { buttonForm, field, form } from '../../../platform/web/forms.ts';
import { type Html, html } from '../../../platform/web/html.ts';
import type { EntryWords } from './words.ts';

export interface View {
  readonly t: EntryWords;
  readonly csrf: string;
  /** `?return_to=…`: the page to go to after signing in. */
  readonly query: string;
}

export interface SignInForm {
  readonly username?: string | undefined;
  /** Shown beside the password. */
  readonly error?: string;
  readonly notice?: Html;
  /** The username of a person whose sign-in is too long ago. */
  readonly again: string | undefined;
  readonly signUpOpen: boolean;
}

export function signInView({ t, csrf, query }: View, { username, error, notice, again, signUpOpen }: SignInForm): Html {
  const signedIn = again !== undefined;
  return card({
    body: html`
      <h1>${signedIn ? t('signInAgain') : t('signIn')}</h1>
      <p class="intro">${signedIn ? t('signInAgainIntro') : t('signInIntro')}</p>
      !${notice ?? ''}
      !${form({
        action: `/login${query}`,
        csrf,
        body: html`
          !${field({ name: 'username', label: t('username'), value: username ?? again, autocomplete: 'username', required: true, autofocus: !signedIn, maxlength: 30 })}
          !${field({ name: 'password', type: 'password', label: t('password'), error, autocomplete: 'current-password', required: true, autofocus: signedIn })}
          <div class="actions">!${button(t('signIn'))}</div>`,
      })}
      <div data-passkey="sign-in" data-options="/login/passkey/options" hidden>
        !${form({
          action: `/login/passkey${query}`,
          csrf,
          body: html`<input type="hidden" name="credential"><div class="actions">!${button(t('passkey'), { kind: 'plain' })}</div>`,
        })}
        <p class="error" role="alert" hidden>${t('passkeyFailed')}</p>
      </div>
      <p>${t('lostPassword')} <a href="/login/recovery${query}">${t('useCode')}</a></p>
      !${signUpOpen && !signedIn ? html`<p>${t('noAccount')} <a href="/signup${query}">${t('signUp')}</a></p>` : ''}`,
  });
}

export const signOutView = ({ t, csrf }: View): Html =>
  card({
    body: html`
      <h1>${t('signOut')}</h1><p class="intro">${t('signOutIntro')}</p>
      !${buttonForm({ action: '/logout', csrf, label: t('signOut'), row: true })}`,
  });

export interface SignUpForm {
  readonly username?: string;
  readonly displayName?: string;
  readonly errors?: Partial<Record<string, string>>;
}

export const signUpView = ({ t, csrf, query }: View, { username, displayName, errors }: SignUpForm): Html =>
  card({
    body: html`
      <h1>${t('signUp')}</h1>
      <p class="intro">${t('signUpIntro')}</p>
      !${form({
        action: `/signup${query}`,
        csrf,
        body: html`
          !${field({ name: 'username', label: t('username'), hint: t('usernameHint'), value: username, error: errors?.username, autocomplete: 'username', required: true, autofocus: true, maxlength: 30 })}
          !${field({ name: 'display_name', label: t('displayName'), hint: t('displayNameHint'), value: displayName, error: errors?.display_name, autocomplete: 'nickname', maxlength: 40 })}
          !${field({ name: 'password', type: 'password', label: t('password'), hint: t('passwordHint'), error: errors?.password, autocomplete: 'new-password', required: true })}
          <div class="actions">!${button(t('signUp'))}</div>`,
      })}
      <p>${t('haveAccount')} <a href="/login${query}">${t('signIn')}</a></p>`,
  });

export const signUpClosedView = ({ t }: View): Html =>
  card({
    body: html`
      <h1>${t('signUpClosed')}</h1>
      <p class="intro">${t('signUpClosedText')}</p>
      <p>${t('haveAccount')} <a href="/login">${t('signIn')}</a></p>`,
  });

export interface RecoveryForm {
  readonly username?: string;
  readonly code?: string;
  readonly errors?: { readonly code?: string; readonly password?: string };
  readonly notice?: Html;
}

export const recoveryView = ({ t, csrf, query }: View, { username, code, errors, notice }: RecoveryForm): Html =>
  card({
    body: html`
      <h1>${t('recovery')}</h1>
      <p class="intro">${t('recoveryIntro')}</p>
      !${notice ?? ''}
      !${form({
        action: `/login/recovery${query}`,
        csrf,
        body: html`
          !${field({ name: 'username', label: t('username'), value: username, autocomplete: 'username', required: true, autofocus: true, maxlength: 30 })}
          !${field({ name: 'code', label: t('code'), hint: t('codeHint'), value: code, error: errors?.code, autocomplete: 'one-time-code', required: true, maxlength: 40 })}
          !${field({ name: 'password', type: 'password', label: t('newPassword'), hint: t('passwordHint'), error: errors?.password, autocomplete: 'new-password', required: true })}
          <div class="actions">!${button(t('setPassword'))}</div>`,
      })}
      <p><a href="/login${query}">${t('backToSignIn')}</a></p>`,
  });
