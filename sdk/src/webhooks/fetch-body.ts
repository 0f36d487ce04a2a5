import { readBounded } from './bounded.ts';
import { WebhookError } from './verify.ts';

/** The raw body of a Fetch `Request`. */
export async function readFetchBody(request: Request, maxBytes: number): Promise<Uint8Array> {
  if (request.bodyUsed || request.body?.locked) throw new WebhookError('no_raw_body', readBefore);
  const body = request.body ? await readBounded(request.body, request.headers.get('content-length'), maxBytes) : null;
  if (!body?.length) throw new WebhookError('no_raw_body', 'The request has no body; a delivery always has one.');
  return body;
}

const readBefore = `The request's body was read before the webhook handler got it, and parsed JSON cannot be verified.
Hand over the request unread:
  Hono      app.post('/webhooks', (c) => webhooks.fetch(c.req.raw)), without c.req.json() before it
  Next.js   export const POST = webhooks.fetch, or (request) => webhooks.fetch(request) without request.json() before it
  Deno, Bun, Workers   webhooks.fetch(request); to read it as well, give the handler request.clone() first`;
