import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { OwnerGone, StorageUnavailable } from '../db/database.ts';
import type { Log } from '../log.ts';
import { QueueFull } from '../work-queue.ts';
import { callerFields } from './access-log.ts';
import { HttpError, type HttpErrorCode, httpError, httpErrors } from './http-error.ts';

/** How an error is written for a part of the site other than /v1: the token endpoint, the pages. */
export type ErrorWriter = (error: HttpError, request: FastifyRequest, reply: FastifyReply) => unknown;

declare module 'fastify' {
  interface FastifyContextConfig {
    writeError?: ErrorWriter;
  }
}

const frameworkErrors: Readonly<Record<string, HttpErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'validation_failed',
  FST_ERR_BAD_URL: 'not_found',
  FST_ERR_ASYNC_CONSTRAINT: 'not_found',
};

/** A queue of costly work moves on within a second or two. */
const queueRetrySeconds = '2';

/** Turns everything that is thrown into a response. `pageErrorWriter` may write it for a request without a route. */
export function useErrorHandler(
  app: FastifyInstance,
  log: Log,
  pageErrorWriter: (request: FastifyRequest) => ErrorWriter | undefined,
): void {
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const write = request.is404 ? pageErrorWriter(request) : undefined;
    return answerError(toHttpError(error, request, log), request, reply, write);
  });
}

export function answerError(
  error: HttpError,
  request: FastifyRequest,
  reply: FastifyReply,
  write: ErrorWriter | undefined = request.routeOptions?.config?.writeError,
): unknown {
  reply.code(error.status).headers(error.headers);
  reply.errorCode = error.code;
  reply.errorDetails = error.details;
  if (error.code === 'body_too_large') dropBody(request, reply);
  return write
    ? write(error, request, reply)
    : reply.type('application/json; charset=utf-8').send(envelope(error, request.id));
}

/**
 * Reads and drops the rest of the body. Fastify would close the connection instead, and a client that is still sending
 * would see a broken connection before it reads the response.
 */
export function dropBody(request: FastifyRequest, reply: FastifyReply): void {
  reply.removeHeader('connection');
  request.raw.resume();
}

export function envelope({ code, message, details }: HttpError, requestId: string) {
  return { error: { code, message, request_id: requestId, ...(details ? { details } : {}) } };
}

export function toHttpError(error: unknown, request: FastifyRequest, log: Log): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof QueueFull) return httpError('rate_limited', { headers: { 'retry-after': queueRetrySeconds } });
  if (error instanceof OwnerGone) return httpError('not_found');
  if (error instanceof StorageUnavailable) {
    log.error({ ...fieldsOf(request, 'upstream_failed'), reason: error.reason, err: error }, 'storage unavailable');
    return httpError('upstream_failed');
  }
  const code = frameworkErrors[(error as FastifyError).code];
  if (code === 'validation_failed')
    return httpError(code, { details: [{ field: null, message: 'must be as long as Content-Length says' }] });
  if (code) return httpError(code);
  if (isClientGone(error)) return httpError('request_timeout');
  log.error({ ...fieldsOf(request, 'internal_error'), err: error }, 'unexpected error');
  return httpError('internal_error');
}

/** What every line about a failed request has. The route, not the address: that may contain a key. */
const fieldsOf = (request: FastifyRequest, error: HttpErrorCode) => ({
  request_id: request.id,
  error,
  method: request.method,
  route: request.routeOptions?.url,
  ...callerFields(request),
});

const isClientGone = (error: unknown): boolean =>
  ['ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE'].includes((error as FastifyError).code);

/** A whole response for input that is not a complete request: too slow, too large, not HTTP. */
export function rawErrorResponse(code: HttpErrorCode | 'bad_request', requestId: string): string {
  const [status, message] = code === 'bad_request' ? [400, 'This is not an HTTP request.'] : httpErrors[code];
  const body = JSON.stringify({ error: { code, message, request_id: requestId } });
  return [
    `HTTP/1.1 ${status} ${code.replaceAll('_', ' ')}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    'X-Content-Type-Options: nosniff',
    `X-Request-Id: ${requestId}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}
