import { isLoopbackHost } from '../../platform/addresses.ts';

/** What can be wrong with a redirect URI (contract, Redirect URIs). Each text follows the URI in a sentence. */
export const redirectUriProblems = {
  not_absolute: 'must be an absolute address, such as https://app.example/callback',
  too_long: 'must have at most 2,048 characters',
  characters: 'must consist of visible ASCII characters without backslashes; write others percent-encoded',
  fragment: 'must not have a fragment (#…)',
  user_info: 'must not contain a user name or password',
  wildcard: 'must not contain a wildcard (*)',
  not_https: 'must begin with https:// (http:// only for localhost and 127.0.0.1 with a port)',
  development_only:
    'must begin with https:// (http://localhost and http://127.0.0.1 work only while the server runs in development)',
} as const;

export type RedirectUriProblem = keyof typeof redirectUriProblems;

/** Why this URI cannot be registered, or nothing if it can. */
export function redirectUriProblem(text: string, development: boolean): RedirectUriProblem | undefined {
  if (!URL.canParse(text)) return 'not_absolute';
  const url = new URL(text);
  if (text.length > 2048) return 'too_long';
  if (/[^\x21-\x7e]|\\/.test(text)) return 'characters';
  if (text.includes('#')) return 'fragment';
  if (url.username || url.password || /^[^/]*\/\/[^/]*@/.test(text)) return 'user_info';
  if (text.includes('*')) return 'wildcard';
  // The parser accepts `https:host` and `https:/host`. URIs are compared as text, so these are refused.
  if (/^https:\/\/[^/]/i.test(text)) return undefined;
  if (url.protocol !== 'http:' || !isDevelopmentRedirect(url)) return 'not_https';
  return development ? undefined : 'development_only';
}

/** Loopback URIs work only in development, also those that were registered then. */
export function redirectUriUsable(text: string, development: boolean): boolean {
  return redirectUriProblem(text, development) === undefined;
}

const isDevelopmentRedirect = (url: URL): boolean =>
  isLoopbackHost(url.hostname) && ['localhost', '127.0.0.1'].includes(url.hostname) && url.port !== '';
