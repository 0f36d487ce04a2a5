/**
 * What keeps credentials out of the log, whoever logs them, on purpose or by mistake.
 *
 * - Credentials are told by their form: one of our prefixes, a JWT, or a long run of mixed characters (a session's
 *   token, the base64 of an Authorization header).
 * - Text is decoded before it is judged, because `%6ejo_…` and `njo_…` are the same key.
 * - Text without a credential is kept as it came. Close codes, error codes, ids and paths stay readable.
 * - Everything is linear in the length of the text, because strangers choose it.
 */
import { secretPrefixes } from './secrets.ts';

const redacted = '[redacted]';

const prefix = `(?:${secretPrefixes.join('|')}|whsec)_`;
const prefixed = new RegExp(`${prefix}[\\w+/=%-]+`, 'g');
const jwt = /eyJ[\w-]{5,}(?:\.[\w-]*)*/g;
const longRun = /[\w-]{40,}/g;
const hint = new RegExp(`${prefix}|eyJ|%|[\\w-]{40}`);

/** A field of this name is a credential, whatever its form. */
const secretFields =
  /"(authorization|cookie|set-cookie|token|access_token|refresh_token|socket_token|client_secret|secret|password)":(?:"(?:[^"\\]|\\.)*"|\[(?:"(?:[^"\\]|\\.)*",?)*\])/gi;

/** A line of the log, which is JSON and stays so. */
export const redactLine = (line: string): string => redactText(line.replace(secretFields, `"$1":"${redacted}"`));

export function redactText(text: string): string {
  if (!hint.test(text)) return text;
  return redactPlain(text.includes('%') ? redactEncoded(text) : text);
}

const redactPlain = (text: string): string =>
  text
    .replace(prefixed, redacted)
    .replace(jwt, redacted)
    .replace(longRun, (run) => (isMixed(run) ? redacted : run));

/** Random characters have them all; words, names of constants and hexadecimal ids do not. */
const isMixed = (run: string): boolean => /[a-z]/.test(run) && /[A-Z]/.test(run) && /[0-9]/.test(run);

/** Judges each word of the text by what it decodes to. */
function redactEncoded(text: string): string {
  return text
    .split(/([\s"\\]+)/)
    .map((word) => {
      if (!word.includes('%')) return word;
      const decoded = decodeFully(word);
      if (decoded === undefined) return redacted;
      const safe = redactPlain(decoded);
      return safe === decoded ? word : safe;
    })
    .join('');
}

/**
 * Escapes of printable ASCII, which all credentials consist of. Those of the quotation mark and the backslash are not
 * decoded, so that a line stays JSON. `%u006e` is an old way to write `%6e`.
 */
const escaped = /%(?:u00)?(2[013-9a-f]|[346][0-9a-f]|5[0-9abd-f]|7[0-9a-e])/gi;
const deepest = 8;

/** `undefined` for text that was encoded too many times: to decode it fully could cost the square of its length. */
function decodeFully(text: string): string | undefined {
  let decoded = text;
  for (let depth = 0; depth < deepest; depth++) {
    const before = decoded;
    decoded = before.replace(escaped, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
    if (decoded === before) return decoded;
  }
  return undefined;
}

/**
 * A request's address: the path, with whatever may be a credential removed, and the names of the query's parameters.
 * Their values are removed, as is all that follows a `;` or `#` in the path.
 */
export function redactUrl(url: string): string {
  const mark = url.indexOf('?');
  if (mark < 0) return redactPath(url);
  const names = url
    .slice(mark + 1)
    .split('&')
    .map((parameter) => parameter.replace(/=.*/s, '=…'));
  return `${redactPath(url.slice(0, mark))}?${names.map((name) => (isPlainName(name) ? name : '…')).join('&')}`;
}

const isPlainName = (name: string): boolean => /^[a-z_]{0,24}(?:=…)?$/i.test(name) && redactText(name) === name;

/** Pages whose next segment is a key, also a wrong one. */
const keyed = /^(\/+(?:overlay|moderate)\/+)(?!socket$|worker\.js$)[^/]+/i;
/** 43 characters; a refresh token has ten more. */
const whole = new RegExp(`${prefix}(?:[0-9a-z]{10})?[A-Za-z0-9]{43}(?![\\w+=-])`, 'g');
const broken = new RegExp(`${prefix}.*`, 's');
const longSegment = /[\w+=-]{32,}/g;

/** Our paths are far shorter. Longer ones would let strangers fill the disk. A path cut short could end in part of a key. */
const maxPath = 1024;
const tooLong = '/[too long]';

function redactPath(path: string): string {
  if (path.length > maxPath) return tooLong;
  if (path.length < 10 || !/^\/+overlay|^\/+moderate|[%#;=&]|nj|whsec|eyJ|[\w+=-]{32}/i.test(path)) return path;
  const decoded = decodeFully(path);
  if (decoded === undefined) return redacted;
  const cut = decoded.search(/[?#;&=]/);
  const safe = (cut < 0 ? decoded : `${decoded.slice(0, cut + 1)}…`)
    .replace(whole, redacted)
    // The rest of a credential that was broken in two may stand in the segments that follow.
    .replace(broken, redacted)
    .replace(keyed, `$1${redacted}`)
    .replace(jwt, redacted)
    .replace(longSegment, (run) => (/[A-Z0-9]/.test(run) ? redacted : run));
  return safe === decoded ? path : safe;
}
