import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../log.ts';
import { redactText, redactUrl } from '../redact.ts';
import { type ErrorDetail, httpErrors } from './http-error.ts';

declare module 'fastify' {
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

/** The caller, if known: our own ids, which need no escaping. */
export interface Caller {
  readonly clientId: string;
  readonly creatorId: string;
}

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
    log.line(
      `{"level":30,"time":${Date.now()},"request_id":"${request.id}","method":"${request.method}",` +
        `"url":${JSON.stringify(redactUrl(request.url))},"status":${status},` +
        `${error === undefined ? '' : `"error":"${error}",`}"ms":${Math.round(ms * 100) / 100},` +
        `"ip":${JSON.stringify(redactText(request.ip))}` +
        `${who ? `,"client_id":"${who.clientId}","creator_id":"${who.creatorId}"` : ''},"msg":"request"}\n`,
    );
  };
}
