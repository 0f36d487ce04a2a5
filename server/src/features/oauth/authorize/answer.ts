import type { Back } from './errors.ts';

/**
 * The address that carries an answer to the app. Percent-encoded throughout (a space as `%20`), which every way of
 * decoding a query reads alike and which leaves no line break for a header. `iss` goes with errors too (RFC 9207).
 */
export function answerUrl(back: Back, issuer: string, answer: Readonly<Record<string, string>>): string {
  const { redirectUri, state } = back;
  const params = { ...answer, ...(state === undefined ? {} : { state }), iss: issuer };
  const query = Object.entries(params)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&');
  const join = redirectUri.includes('?') ? (/[?&]$/.test(redirectUri) ? '' : '&') : '?';
  return redirectUri + join + query;
}

/**
 * What the consent form may lead to. Chromium holds every redirect after a form to `form-action`, also those that the
 * app's own callback makes, so an app that returns by HTTPS may lead on anywhere by HTTPS.
 */
export function formTargets(redirectUri: string): string[] {
  return new URL(redirectUri).protocol === 'https:' ? ['https:'] : ['http://localhost:*', 'http://127.0.0.1:*'];
}
