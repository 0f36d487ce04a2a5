import type { WebhookEvent } from '../types.ts';
import { readFetchBody } from './fetch-body.ts';
import { type Answer, answerNode, type NodeRequest, type NodeResponse, readNodeBody } from './node.ts';
import { rememberSeen, type SeenStore } from './seen.ts';
import {
  decodeSecrets,
  type HeadersLike,
  readSignature,
  type VerifyWebhookOptions,
  verifyWebhook,
  WebhookError,
} from './verify.ts';

/**
 * Receives deliveries: verifies them, drops repeats, and calls the handler of the event's type.
 *
 * - Nothing of a request is trusted, and no body is read, before its headers are complete and recent.
 * - An event counts as seen once its handler has succeeded. A handler that throws, and a crash, have it delivered again.
 * - The same event twice at once is handled once; both requests get the same answer.
 * - A type without a handler is answered like a success, so that new types do no harm.
 * - The sender learns a code, never what went wrong inside; that goes to `onError`.
 */

type EventOf<Type extends WebhookEvent['type']> = {
  [Each in Type]: Extract<WebhookEvent, { type: Each }> & { type: Each };
}[Type];

export type WebhookHandlers = {
  [Type in WebhookEvent['type']]?: (event: EventOf<Type>) => unknown;
};

export type WebhookHandlerOptions = {
  /** One for each type of event that matters to you; a promise is awaited. Answer within 15 seconds. */
  on: WebhookHandlers;
  /** Where handled ids are kept. By default the last 10,000, in memory. */
  seen?: SeenStore;
  /** Hears what failed on your side: handlers that threw, bodies that were parsed before. By default `console.error`. */
  onError?: (error: unknown, event: WebhookEvent | null) => void;
  /** Larger bodies are refused unread. Default 256 KiB; events are far smaller. */
  maxBodyBytes?: number;
} & Pick<VerifyWebhookOptions, 'toleranceSeconds' | 'now'> &
  ({ secret: string; secrets?: never } | { secrets: readonly string[]; secret?: never });

export type WebhookHandler = {
  /** For whatever speaks the Fetch standard: Hono, Next.js, Deno, Bun, Workers. */
  fetch(request: Request): Promise<Response>;
  /** For Node's `http`, Express and Fastify. */
  node(request: NodeRequest, response: NodeResponse): Promise<void>;
};

type Delivery = { method: string | undefined; headers: HeadersLike; body: () => Promise<Uint8Array | string> };

const defaultMaxBodyBytes = 256 * 1024;
const defaultRemembered = 10_000;

export function createWebhookHandler(options: WebhookHandlerOptions): WebhookHandler {
  const secrets = options.secrets ?? [options.secret];
  decodeSecrets(secrets); // A wrong secret is told at the start, not at the first delivery.
  const seen = options.seen ?? rememberSeen(defaultRemembered);
  const maxBytes = options.maxBodyBytes ?? defaultMaxBodyBytes;
  const running = new Map<string, Promise<void>>();

  async function receive(delivery: Delivery): Promise<Answer> {
    if (delivery.method !== 'POST') return { ...answer(405, 'method_not_allowed'), headers: { allow: 'POST' } };
    let event: WebhookEvent | null = null;
    try {
      event = await verified(delivery);
      await handleOnce(event);
      return answer(204, null);
    } catch (error) {
      // Before there is a verified event, most errors are the sender's.
      const refusal = event ? undefined : refusalOf(error);
      if (refusal) return refusal;
      report(error, event);
      return answer(500, 'internal_error');
    }
  }

  async function verified({ headers, body }: Delivery): Promise<WebhookEvent> {
    const { toleranceSeconds = 300, now = Date.now } = options;
    readSignature({ headers, toleranceSeconds, now });
    const bytes = await body().catch((error: unknown) => {
      throw error instanceof WebhookError ? error : new WebhookError('bad_body', 'the body broke off');
    });
    return await verifyWebhook({ secrets, headers, body: bytes, toleranceSeconds, now });
  }

  /** Calls the handler unless it has succeeded before; joins one that runs for the same event. */
  async function handleOnce(event: WebhookEvent): Promise<void> {
    const handle = handlerOf(event);
    if (!handle) return;
    let run = running.get(event.id);
    if (!run) {
      run = handleUnseen(event.id, handle).finally(() => running.delete(event.id));
      running.set(event.id, run);
    }
    await run;
  }

  async function handleUnseen(id: string, handle: () => unknown): Promise<void> {
    if (await seen.has(id)) return;
    await handle();
    await seen.add(id);
  }

  function handlerOf<Type extends WebhookEvent['type']>(event: EventOf<Type>): (() => unknown) | undefined {
    if (!Object.hasOwn(options.on, event.type)) return undefined;
    const handler = options.on[event.type];
    return handler && (() => handler(event));
  }

  function report(error: unknown, event: WebhookEvent | null): void {
    if (options.onError) options.onError(error, event);
    else if (event) console.error(`The webhook handler of ${event.type} failed for ${event.id}:`, error);
    else console.error(error);
  }

  return {
    async fetch(request) {
      const { status, headers, text } = await receive({
        method: request.method,
        headers: request.headers,
        body: () => readFetchBody(request, maxBytes),
      });
      return new Response(text, { status, headers });
    },
    async node(request, response) {
      const delivery = {
        method: request.method,
        headers: request.headers,
        body: () => readNodeBody(request, maxBytes),
      };
      answerNode(response, await receive(delivery));
    },
  };
}

/** The answer to what the sender did wrong; `undefined` for what went wrong here. */
function refusalOf(error: unknown): Answer | undefined {
  if (!(error instanceof WebhookError) || error.code === 'no_raw_body') return undefined;
  return answer(error.code === 'body_too_large' ? 413 : 400, error.code);
}

function answer(status: number, text: string | null): Answer {
  return { status, headers: text === null ? {} : { 'content-type': 'text/plain; charset=utf-8' }, text };
}
