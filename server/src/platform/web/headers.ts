import type { FastifyInstance } from 'fastify';
import type { PictureType } from '../pictures.ts';

const policy = {
  'default-src': ["'none'"],
  'style-src': ["'self'"],
  'script-src': ["'self'"],
  'img-src': ["'self'", 'data:'],
  'font-src': ["'self'"],
  'connect-src': ["'self'"],
  'form-action': ["'self'"],
  'base-uri': ["'none'"],
  'frame-ancestors': ["'none'"],
};

type Directive = keyof typeof policy | 'frame-src' | 'media-src';

/**
 * The pages' Content-Security-Policy, with sources added for one page:
 * `reply.header('content-security-policy', contentSecurityPolicy({ 'form-action': [origin] }))`.
 * Adding to `'none'` replaces it. Sources must be origins or keywords, never text that a user gave.
 */
export function contentSecurityPolicy(extra: Partial<Record<Directive, string[]>> = {}): string {
  const merged: Record<string, string[]> = { ...policy };
  for (const [directive, sources] of Object.entries(extra)) {
    const bad = sources.find((source) => /[\s;,]/.test(source));
    if (bad !== undefined) throw new Error(`Not a source of a content security policy: ${bad}`);
    merged[directive] = [...(merged[directive] ?? []).filter((source) => source !== "'none'"), ...sources];
  }
  return Object.entries(merged)
    .map(([directive, sources]) => `${directive} ${sources.join(' ')}`)
    .join('; ');
}

/** Sets the headers of every page in this scope before its handler runs, so that a handler can replace any. */
export function pageHeaders(app: FastifyInstance, options: { https: boolean }): void {
  const headers = {
    'content-security-policy': contentSecurityPolicy(),
    'cache-control': 'no-store',
    // Not `no-referrer`: browsers then send `Origin: null` with our own forms, which the origin check refuses.
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'cross-origin-opener-policy': 'same-origin',
    'permissions-policy': 'camera=(), microphone=(), geolocation=(), payment=(), usb=(), display-capture=()',
    ...(options.https ? { 'strict-transport-security': 'max-age=31536000' } : {}),
  };
  app.addHook('onRequest', async (_request, reply) => {
    reply.headers(headers);
  });
}

/** Of an uploaded picture. A browser that renders the picture as a document may run and load nothing. */
export const uploadedPictureHeaders = (type: PictureType) => ({
  'content-type': type,
  'content-disposition': 'inline',
  'content-security-policy': "default-src 'none'; sandbox",
  'x-content-type-options': 'nosniff',
  // Apps show the picture on their pages. The short cache lets a removed picture disappear soon.
  'cross-origin-resource-policy': 'cross-origin',
  'cache-control': 'public, max-age=300',
});
