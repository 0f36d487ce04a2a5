/** The client of `GET /v1/webhooks/listen`: forwards each delivery and answers it, and reconnects by itself. */
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { listenerCloseReasons } from '../features/webhooks/index.ts';
import { Failure } from './errors.ts';
import type { Forward, ForwardedAnswer } from './forward.ts';

export interface ListenerClientOptions {
  readonly server: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly forward: Forward;
  readonly onReady: (ready: { endpointId: string; secret: string }) => void;
  readonly onForwarded: (deliveryId: string, body: string, answer: ForwardedAnswer) => void;
  /** The connection was lost, and is tried again after this time. */
  readonly onWait: (why: string, waitMs: number) => void;
  readonly signal: AbortSignal;
}

/** How a connection ended, or why there was none. */
interface ConnectionEnd {
  readonly why: string;
  readonly wasReady: boolean;
  readonly waitMs?: number;
}

const handshakeTimeout = 10_000;
/** The server pings every 25 seconds. A connection that is silent for longer is dead. */
const maxSilenceMs = 60_000;
const waits = { firstMs: 500, maxMs: 15_000 };
const maxPayload = 1024 * 1024;
const maxBodyBytes = 1024;

/** Returns when `signal` aborts. Throws if the first connection fails, or if another could not succeed. */
export async function runListener(options: ListenerClientOptions): Promise<void> {
  const { signal } = options;
  let everReady = false;
  for (let waitMs = waits.firstMs; !signal.aborted; waitMs = Math.min(2 * waitMs, waits.maxMs)) {
    const end = await connectOnce(options);
    if (signal.aborted) return;
    everReady ||= end.wasReady;
    if (!everReady && end.waitMs === undefined)
      throw new Failure('connection_failed', `No answer from ${options.server} (${end.why}).`);
    if (end.wasReady) waitMs = waits.firstMs;
    const wait = end.waitMs ?? Math.round(waitMs * (0.5 + Math.random()));
    options.onWait(end.why, wait);
    await sleep(wait, undefined, { signal }).catch(() => {});
  }
}

function connectOnce({
  server,
  clientId,
  clientSecret,
  signal,
  ...options
}: ListenerClientOptions): Promise<ConnectionEnd> {
  const authorization = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
  const url = new URL('/v1/webhooks/listen', server.replace(/^http/, 'ws'));
  const webSocket = new WebSocket(url, { headers: { authorization }, handshakeTimeout, maxPayload });
  const { promise, resolve, reject } = Promise.withResolvers<ConnectionEnd>();
  let [wasReady, why] = [false, ''];
  const silence = setTimeout(() => webSocket.terminate(), maxSilenceMs);
  const stop = () => webSocket.close(1000);
  signal.addEventListener('abort', stop);

  async function deliver({ id, headers, body }: DeliveryFrame): Promise<void> {
    const answer = await options.forward({ headers, body });
    options.onForwarded(id, body, answer);
    if (webSocket.readyState === WebSocket.OPEN) webSocket.send(JSON.stringify(resultOf(id, answer)));
  }

  webSocket.on('ping', () => silence.refresh());
  webSocket.on('message', (data) => {
    silence.refresh();
    const frame = readFrame(String(data));
    if (!frame) {
      why = 'the server sent something that is no frame';
      return webSocket.terminate();
    }
    if (frame.type === 'delivery') void deliver(frame).catch(reject);
    if (frame.type !== 'ready') return;
    wasReady = true;
    options.onReady({ endpointId: frame.endpoint_id, secret: frame.secret });
  });
  webSocket.on('unexpected-response', (request, response) => {
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.on('end', () => {
      request.destroy();
      try {
        resolve({
          ...refusal(response.statusCode ?? 0, Buffer.concat(chunks).toString(), response.headers['retry-after']),
          wasReady,
        });
      } catch (error) {
        reject(error);
      }
    });
  });
  webSocket.on('error', (error: NodeJS.ErrnoException) => {
    why = error.code ?? error.message;
  });
  webSocket.on('close', (code, reason) => {
    const known = Object.values(listenerCloseReasons).find((each) => each.code === code);
    if (known && !known.reconnect)
      reject(new Failure('listener_closed', `The server has closed the connection: ${known.reason}. ${known.advice}`));
    resolve({ why: why || String(reason) || (code === 1006 ? 'the connection was lost' : `code ${code}`), wasReady });
  });
  return promise.finally(() => {
    clearTimeout(silence);
    signal.removeEventListener('abort', stop);
  });
}

interface ReadyFrame {
  readonly type: 'ready';
  readonly endpoint_id: string;
  readonly secret: string;
}

interface DeliveryFrame {
  readonly type: 'delivery';
  readonly id: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** `undefined` for what is no JSON object: whoever answers at that address is no server of ours. */
function readFrame(text: string): ReadyFrame | DeliveryFrame | undefined {
  try {
    return Object(JSON.parse(text));
  } catch {
    return undefined;
  }
}

const resultOf = (id: string, { status, error, body, durationMs }: ForwardedAnswer) => ({
  type: 'result',
  id,
  status_code: status,
  duration_ms: durationMs,
  error: error?.slice(0, 300) ?? null,
  response_body: body === null ? null : Buffer.from(body).subarray(0, maxBodyBytes).toString(),
});

/** The server answered, but not with a WebSocket. Throws what no later try could mend. */
function refusal(status: number, text: string, retryAfter: string | undefined): Pick<ConnectionEnd, 'why' | 'waitMs'> {
  if (status === 429) return { why: 'too many calls', waitMs: 1000 * Math.max(1, Number(retryAfter) || 1) };
  if (status >= 500) return { why: `the server answered ${status}` };
  const { code, message } = readError(text);
  if (status === 401)
    throw new Failure(code, 'The server does not know this NAMJAI_CLIENT_ID with this NAMJAI_CLIENT_SECRET.');
  throw new Failure(code, message || `The server answered ${status}: is it a Namjai server?`);
}

function readError(text: string): { code: string; message: string } {
  try {
    const { code, message } = JSON.parse(text).error;
    return { code: String(code), message: String(message) };
  } catch {
    return { code: 'not_a_server', message: '' };
  }
}
