import { isLoopbackHost } from '../../config.ts';

/** Why this address cannot be registered as a redirect URI, or nothing if it can (contract, Redirect URIs). */
export function redirectUriProblem(text: string, development: boolean): string | undefined {
  if (!URL.canParse(text)) return 'must be an absolute address, such as https://app.example/callback';
  const url = new URL(text);
  if (text.length > 2048) return 'must have at most 2,048 characters';
  if (/[\p{Cc}\s\\]/u.test(text)) return 'must not contain spaces or backslashes';
  if (text.includes('#')) return 'must not have a fragment (#…)';
  if (url.username || url.password || /^[^/]*\/\/[^/]*@/.test(text)) return 'must not contain a user name or password';
  if (text.includes('*')) return 'must not contain a wildcard (*)';
  if (url.protocol === 'https:') return undefined;
  if (url.protocol !== 'http:') return 'must begin with https://';
  if (!isDevelopmentRedirect(url))
    return 'must begin with https:// (http:// only for localhost and 127.0.0.1 with a port)';
  return development
    ? undefined
    : 'must begin with https:// (http://localhost works only while the server runs in development)';
}

/** Loopback redirects match only while the server runs in development, also those registered earlier. */
export function redirectUriUsable(text: string, development: boolean): boolean {
  return redirectUriProblem(text, development) === undefined;
}

const isDevelopmentRedirect = (url: URL): boolean =>
  isLoopbackHost(url.hostname) && ['localhost', '127.0.0.1'].includes(url.hostname) && url.port !== '';
