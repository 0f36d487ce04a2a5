import { readBounded } from './bounded.ts';
import { WebhookError } from './verify.ts';

/**
 * Node's `http`, Express and Fastify, by what their requests and responses have in common: the SDK depends on none of
 * them. Fastify wraps Node's own request and response, and calls them `raw`.
 */

export type Answer = { status: number; headers: Record<string, string>; text: string | null };

type IncomingMessage = AsyncIterable<Uint8Array | string> & { readonly readableDidRead?: boolean };
type ServerResponse = {
  writeHead(status: number, headers: Record<string, string>): unknown;
  end(text?: string): unknown;
};

export type NodeRequest = {
  readonly method?: string | undefined;
  readonly headers: Record<string, string | readonly string[] | undefined>;
  /** Set by body parsers. */
  readonly body?: unknown;
  /** Set by some hosts and plugins that parse the body as well. */
  readonly rawBody?: unknown;
} & (IncomingMessage | { readonly raw: IncomingMessage });

export type NodeResponse = ServerResponse | { readonly raw: ServerResponse; hijack(): unknown };

/** The raw body: as a parser kept it, or else read from the request, if nobody has read it. */
export async function readNodeBody(request: NodeRequest, maxBytes: number): Promise<Uint8Array | string> {
  const kept = [request.rawBody, request.body].find(isRaw);
  if (kept?.length) return bounded(kept, maxBytes);
  const message = 'raw' in request ? request.raw : request;
  if (message.readableDidRead) throw new WebhookError('no_raw_body', 'raw' in request ? parsedByFastify : parsed);
  const length = request.headers['content-length'];
  const body = await readBounded(message, typeof length === 'string' ? length : null, maxBytes);
  if (body.length === 0) throw new WebhookError('no_raw_body', 'The request has no body; a delivery always has one.');
  return body;
}

export function answerNode(response: NodeResponse, { status, headers, text }: Answer): void {
  let raw: ServerResponse;
  if ('raw' in response) {
    response.hijack();
    raw = response.raw;
  } else raw = response;
  // Node would otherwise go on reading what is left of a body that is too large.
  raw.writeHead(status, status === 413 ? { ...headers, connection: 'close' } : headers);
  raw.end(text ?? undefined);
}

function isRaw(body: unknown): body is Uint8Array | string {
  return typeof body === 'string' || body instanceof Uint8Array;
}

function bounded(body: Uint8Array | string, maxBytes: number): Uint8Array | string {
  if (body.length > maxBytes) throw new WebhookError('body_too_large', `the body is larger than ${maxBytes} bytes`);
  return body;
}

const parsed = `The request's body was read before the webhook handler got it, and parsed JSON cannot be verified.
  Express   put app.post('/webhooks', webhooks.node) before app.use(express.json()), or keep the bytes:
            express.json({ verify: (request, _response, bytes) => { request.rawBody = bytes; } })
  Next.js   in pages/api: export const config = { api: { bodyParser: false } }
  http      call webhooks.node(request, response) before anything reads the request`;

const parsedByFastify = `Fastify parsed the request's body, and parsed JSON cannot be verified. Keep the bytes for this route alone:
  app.register(async (scope) => {
    scope.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
    scope.post('/webhooks', webhooks.node);
  });`;
