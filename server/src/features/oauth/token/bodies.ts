import { isUtf8 } from 'node:buffer';
import type { FastifyInstance } from 'fastify';
import { ApiError, validationFailed } from '../../../errors.ts';
import { parseFields } from '../../../platform/http/form-fields.ts';
import { isJson, parseJson, useBodies } from '../../../platform/http/json-body.ts';

/** Bodies of /v1/oauth/* are JSON (the spec) or forms (ordinary OAuth libraries). A field must not be sent twice. */
export function useOAuthBodies(app: FastifyInstance): void {
  useBodies(app, (body, contentType) => {
    if (isJson(contentType)) {
      const value = parseJson(body);
      const text = body.toString('utf8');
      // The usual case: the text is what `JSON.stringify` writes, so no key is repeated.
      if (JSON.stringify(value) !== text) refuseDuplicates(topLevelKeys(text));
      return value;
    }
    if (isForm(contentType)) return parseForm(body);
    throw new ApiError('unsupported_media_type', { message: 'Send the body as JSON or form-encoded.' });
  });
}

const isForm = (contentType: string): boolean => /^application\/x-www-form-urlencoded\s*(;|$)/i.test(contentType);

function parseForm(body: Buffer): Record<string, string> {
  if (!isUtf8(body)) throw validationFailed({ field: null, message: 'must be UTF-8' });
  const fields = [...parseFields(body.toString('utf8'))];
  refuseDuplicates(fields.map(([name]) => name));
  return Object.fromEntries(fields);
}

function refuseDuplicates(names: readonly string[]): void {
  const seen = new Set<string>();
  for (const field of names) {
    if (seen.has(field)) throw validationFailed({ field, message: 'must not be sent twice' });
    seen.add(field);
  }
}

/** The text must be well-formed JSON. `JSON.parse` silently keeps the last of two equal keys. */
function topLevelKeys(text: string): string[] {
  const keys: string[] = [];
  let level = 0;
  // The last text of the top level, which is a key if a colon follows it.
  let last = '';
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === '{' || character === '[') level += 1;
    else if (character === '}' || character === ']') level -= 1;
    else if (character === ':' && level === 1) keys.push(last.includes('\\') ? JSON.parse(last) : last.slice(1, -1));
    else if (character === '"') {
      const start = at;
      at = endOfText(text, at);
      if (level === 1) last = text.slice(start, at + 1);
    }
  }
  return keys;
}

/** Where the quotation mark is that ends the text. */
function endOfText(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at;
}
