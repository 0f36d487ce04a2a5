import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../log.ts';
import { redactText, redactUrl } from '../redact.ts';
import { type ErrorDetail, httpErrors } from './http-error.ts';
import { readTraceParent } from './traceparent.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who called, as far as it is known by now. */
    caller(): Caller | undefined;
  }
  interface FastifyReply {
    /** What the answer says went wrong: a code of an error table, not text of a client. */
    errorCode: string | undefined;
    /** The rules that the request broke. */
    errorDetails: readonly ErrorDetail[] | undefined;
  }
}

/** For an answer without an error of a table, such as a page that shows a form again. */
const statusErrors = new Map<number, string>(Object.entries(httpErrors).map(([code, [status]]) => [status, code]));

export const errorCodeOf = ({ errorCode, statusCode }: FastifyReply): string | undefined =>
  errorCode ?? statusErrors.get(statusCode);

/** The caller, as far as it is known: our own ids, which need no escaping. */
export interface Caller {
  readonly clientId: string | undefined;
  readonly creatorId: string | undefined;
}

/** Who called and in which trace of theirs, for the lines that tell why a request failed. */
export function callerFields(request: FastifyRequest): Record<string, string> {
  const caller = request.caller();
  const trace = readTraceParent(request.headers.traceparent);
  return {
    ...(caller?.clientId === undefined ? {} : { client_id: caller.clientId }),
    ...(caller?.creatorId === undefined ? {} : { creator_id: caller.creatorId }),
    ...(trace && { trace_id: trace.traceId, span_id: trace.spanId }),
  };
}

const idField = (name: string, id: string | undefined): string => (id === undefined ? '' : `,"${name}":"${id}"`);

/**
 * Logs one line for each answered request. The line is built by hand: to let pino copy, redact and serialize an object
 * cost a quarter of a whole GET /v1/me. Text that a client chose is redacted and escaped.
 */
export function createAccessLog(log: Log, caller: (request: FastifyRequest) => Caller | undefined) {
  return (request: FastifyRequest, reply: FastifyReply, ms: number): void => {
    if (!log.isLevelEnabled('info')) return;
    const who = caller(request);
    const { statusCode: status } = reply;
    const error = errorCodeOf(reply);
    const trace = readTraceParent(request.headers.traceparent);
    log.line(
      `{"level":30,"time":${Date.now()},"request_id":"${request.id}","method":"${request.method}",` +
        `"url":${JSON.stringify(redactUrl(request.url))},"status":${status},` +
        `${error === undefined ? '' : `"error":"${error}",`}"ms":${Math.round(ms * 100) / 100},` +
        `"ip":${JSON.stringify(redactText(request.ip))}` +
        `${idField('client_id', who?.clientId)}${idField('creator_id', who?.creatorId)}` +
        `${idField('trace_id', trace?.traceId)}${idField('span_id', trace?.spanId)},"msg":"request"}\n`,
    );
  };
}
