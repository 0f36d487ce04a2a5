import type { ResponseTarget } from './errors.ts';

/**
 * The redirect to the app. All values are percent-encoded (a space as `%20`, which every decoder of queries reads alike),
 * so no line break gets into the header. Errors carry `iss` too (RFC 9207).
 */
export function responseUrl(
  target: ResponseTarget,
  issuer: string,
  response: Readonly<Record<string, string>>,
): string {
  const { redirectUri, state } = target;
  const params = { ...response, ...(state === undefined ? {} : { state }), iss: issuer };
  const query = Object.entries(params)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&');
  const join = redirectUri.includes('?') ? (/[?&]$/.test(redirectUri) ? '' : '&') : '?';
  return redirectUri + join + query;
}

/**
 * The allowed targets of the consent form. Chromium applies `form-action` to every redirect after a form, also to those of
 * the app's callback, so a callback with HTTPS may redirect to any HTTPS address.
 */
export function formTargets(redirectUri: string): string[] {
  return new URL(redirectUri).protocol === 'https:' ? ['https:'] : ['http://localhost:*', 'http://127.0.0.1:*'];
}
