import { WebhookError } from './verify.ts';

/** All bytes of a stream, as long as they are at most `maxBytes`; of a longer one the rest is left unread. */
export async function readBounded(
  stream: AsyncIterable<Uint8Array | string> | ReadableStream<Uint8Array>,
  contentLength: string | null | undefined,
  maxBytes: number,
): Promise<Uint8Array> {
  if (Number(contentLength ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const chunks: Uint8Array[] = [];
  let length = 0;
  const next = chunkReader(stream);
  for (let chunk = await next(); chunk !== undefined; chunk = await next()) {
    length += chunk.length;
    if (length > maxBytes) throw tooLarge(maxBytes);
    chunks.push(chunk);
  }
  const all = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    all.set(chunk, offset);
    offset += chunk.length;
  }
  return all;
}

/**
 * Reads chunk by chunk without closing the stream at an early end: a Node request that is closed loses its socket, and
 * with it the answer. Not every browser can iterate over a `ReadableStream`.
 */
function chunkReader(stream: AsyncIterable<Uint8Array | string> | ReadableStream<Uint8Array>) {
  if ('getReader' in stream) {
    const source = stream.getReader();
    return async () => (await source.read()).value;
  }
  const iterator = stream[Symbol.asyncIterator]();
  return async () => {
    const { done, value } = await iterator.next();
    if (done) return undefined;
    return typeof value === 'string' ? new TextEncoder().encode(value) : value;
  };
}

function tooLarge(maxBytes: number): WebhookError {
  return new WebhookError('body_too_large', `the body is larger than ${maxBytes} bytes`);
}
