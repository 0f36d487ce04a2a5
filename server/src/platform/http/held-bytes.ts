/**
 * How much memory the requests and answers of one address may take. Invariants:
 *
 * - A body counts from before it is read until its request is answered, by the length that it tells or else the most that
 *   its route reads. An answer counts until the operating system has taken it, so one that nobody reads counts on.
 * - Above the bound a request is refused before its body is read, and an answer is replaced by a short one.
 * - A body in chunks is kept in few pieces, however small they come.
 * - Streams do not count: they wait for their reader, and so are never in memory as a whole.
 */
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { networkOf } from '../addresses.ts';
import { onceClosed } from './closed.ts';
import { envelope } from './errors.ts';
import { httpError } from './http-error.ts';

/** As much as a browser needs that loads the largest pictures over all its connections. */
const defaultMaxOfAddress = 64 * 1024 * 1024;
/** What is shorter is not counted: it fits into the buffers of its connection. */
const smallBytes = 16 * 1024;
const retrySeconds = '2';
/** So many pieces of a body that comes in chunks become one. */
const maxPieces = 128;

export function limitHeldBytes(app: FastifyInstance, maxOfAddress = defaultMaxOfAddress): void {
  const held = new Map<string, number>();

  /** Returns whether there is room. What is held is released when the answer is sent or the client is gone. */
  function hold({ ip }: FastifyRequest, { raw }: FastifyReply, bytes: number): boolean {
    // The answer to a client that is gone is never sent.
    if (bytes < smallBytes || raw.destroyed) return true;
    const network = networkOf(ip);
    const before = held.get(network) ?? 0;
    if (before > 0 && before + bytes > maxOfAddress) return false;
    held.set(network, before + bytes);
    onceClosed(raw, () => {
      const left = (held.get(network) ?? 0) - bytes;
      if (left > 0) held.set(network, left);
      else held.delete(network);
    });
    return true;
  }

  // After the hooks that let somebody in, before the body is read.
  app.addHook('preParsing', (request, reply, payload, done) => {
    if (hold(request, reply, bodyBytes(request)))
      return done(null, isChunked(request) ? Readable.from(merged(payload)) : payload);
    // The body stays unread, so the connection cannot be used again.
    done(httpError('rate_limited', { headers: { 'retry-after': retrySeconds, connection: 'close' } }));
  });

  app.addHook('onSend', (request, reply, payload, done) => {
    if (hold(request, reply, answerBytes(payload))) return done(null, payload);
    const error = httpError('rate_limited');
    reply.errorCode = error.code;
    for (const name of ['content-length', 'etag', 'last-modified']) reply.removeHeader(name);
    reply.code(error.status).headers({ 'retry-after': retrySeconds, 'cache-control': 'no-store' });
    reply.type('application/json; charset=utf-8');
    done(null, JSON.stringify(envelope(error, request.id)));
  });
}

function bodyBytes(request: FastifyRequest): number {
  const most = request.routeOptions.bodyLimit ?? 0;
  if (isChunked(request)) return most;
  return Math.min(most, Number(request.headers['content-length'] ?? 0));
}

const isChunked = ({ headers }: FastifyRequest): boolean => headers['transfer-encoding'] !== undefined;

/** A piece of one byte takes 400 bytes of memory, and a body may come in 65,536 of them. */
async function* merged(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let pieces: Buffer[] = [];
  for await (const piece of body)
    if (pieces.push(piece) >= maxPieces) {
      yield Buffer.concat(pieces);
      pieces = [];
    }
  if (pieces.length > 0) yield Buffer.concat(pieces);
}

const answerBytes = (payload: unknown): number =>
  typeof payload === 'string' || payload instanceof Uint8Array ? payload.length : 0;
