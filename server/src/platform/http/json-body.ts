import { isUtf8 } from 'node:buffer';
import type { FastifyInstance } from 'fastify';
import { type ErrorDetail, type HttpError, httpError, validationFailed } from './http-error.ts';

/**
 * Bodies under /v1 are JSON. An empty body is no body, whatever its content type says; anything else that is
 * not JSON is 415. What JSON.parse lets through but nothing should store or trust (`__proto__`, NUL, lone
 * surrogates, absurd nesting) is refused here, before any schema sees it.
 */
const maxDepth = 32;
/** Arrays and objects of a body. 30,000 fit into one and take 10 ms to parse and check. The API needs fewer than a hundred. */
const maxBrackets = 1000;
/** Problems that an answer names. A body may have 8,000. */
const maxProblems = 50;

export function useJsonBodies(app: FastifyInstance): void {
  useBodies(app, (body, contentType) => {
    if (!isJson(contentType)) throw httpError('unsupported_media_type');
    return parseJson(body);
  });
}

/** Parses every body of these routes with one function. What the function throws becomes the response. */
export function useBodies(app: FastifyInstance, parse: (body: Buffer, contentType: string) => unknown): void {
  app.removeAllContentTypeParsers();
  // The usual types by name, because for `*` Fastify parses the header first, which costs time.
  const types = ['application/json', 'application/x-www-form-urlencoded', '*'];
  app.addContentTypeParser(types, { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    if (body.length === 0) return done(null, undefined);
    try {
      done(null, parse(body, request.headers['content-type'] ?? ''));
    } catch (error) {
      done(error as Error);
    }
  });
}

export const isJson = (contentType: string): boolean => /^application\/json\s*(;|$)/i.test(contentType);

export function parseJson(body: Buffer): unknown {
  if (!isUtf8(body)) throw malformed('must be UTF-8');
  const text = body.toString('utf8');
  const brackets = countBrackets(text);
  if (brackets > maxBrackets) throw malformed(`must not have more than ${maxBrackets} arrays and objects`);
  if (brackets > maxDepth && depth(text) > maxDepth)
    throw malformed(`must not be nested deeper than ${maxDepth} levels`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw malformed('must be well-formed JSON');
  }
  // Only an escape can bring NUL or half a surrogate pair into valid UTF-8, or disguise a key.
  if (text.includes('\\u') || text.includes('__proto__')) {
    const problems: ErrorDetail[] = [];
    findUnsafe(value, null, problems);
    if (problems.length > 0) throw validationFailed(...problems.slice(0, maxProblems));
  }
  return value;
}

const malformed = (message: string): HttpError => validationFailed({ field: null, message });

/** Counting brackets is faster than measuring the depth, and hardly any body has enough brackets to be too deep. */
function countBrackets(text: string): number {
  let count = 0;
  for (const bracket of ['{', '['])
    for (let at = text.indexOf(bracket); at !== -1 && count <= maxBrackets; at = text.indexOf(bracket, at + 1))
      count += 1;
  return count;
}

function depth(text: string): number {
  let level = 0;
  let deepest = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (inString) {
      if (code === 0x5c) i++;
      else if (code === 0x22) inString = false;
    } else if (code === 0x22) inString = true;
    else if (code === 0x7b || code === 0x5b) deepest = Math.max(deepest, ++level);
    else if (code === 0x7d || code === 0x5d) level--;
  }
  return deepest;
}

function findUnsafe(value: unknown, field: string | null, problems: ErrorDetail[]): void {
  if (problems.length >= maxProblems) return;
  if (typeof value === 'string') {
    if (value.includes('\0')) problems.push({ field, message: 'must not contain the character NUL' });
    if (!value.isWellFormed()) problems.push({ field, message: 'must not contain half of a surrogate pair' });
  } else if (Array.isArray(value)) {
    for (const inner of value) findUnsafe(inner, field, problems);
  } else if (value !== null && typeof value === 'object') {
    for (const [key, inner] of Object.entries(value)) {
      if (key === '__proto__') problems.push({ field: field ?? key, message: 'must not have a field named __proto__' });
      findUnsafe(inner, field ?? key, problems);
    }
  }
}
