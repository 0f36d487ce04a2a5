import type { Socket } from 'node:net';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { createAddressRules, isLoopbackHost, networkOf, unmapped } from '../addresses.ts';
import type { NewId } from '../ids.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { createPacer } from '../pacer.ts';
import { type Caller, createAccessLog } from './access-log.ts';
import { limitConnections } from './connections.ts';
import { answerError, type ErrorWriter, rawErrorResponse, toHttpError, useErrorHandler } from './errors.ts';
import { countHeader } from './headers.ts';
import { limitHeldBytes } from './held-bytes.ts';
import { type HttpError, httpError } from './http-error.ts';
import { useJsonBodies } from './json-body.ts';
import { readRequestsSingly } from './pipelining.ts';
import { createRequestQueue, credentialOf, type RequestSource } from './request-queue.ts';
import { compileSerializer } from './serialization.ts';
import { compileValidator } from './validation.ts';
import { isWebSocketUpgrade } from './websocket.ts';

export interface HttpParts {
  readonly config: {
    /** Addresses of the proxies whose forwarding headers are believed. */
    readonly trustProxy: readonly string[];
    readonly development: boolean;
  };
  readonly newId: NewId;
  readonly log: Log;
  readonly metrics: Metrics;
  /** What the access log says about who called. */
  readonly caller: (request: FastifyRequest) => Caller | undefined;
  /** Whether the answer is a fault that somebody asked for. The metrics of requests leave it out. */
  readonly isInjectedFault: (reply: FastifyReply) => boolean;
  /** Called after each answer of 400 and above. */
  readonly onFailure: (request: FastifyRequest, reply: FastifyReply) => void;
  /** Writes the error of a request that has no route and does not belong to the API. */
  readonly pageErrorWriter: (request: FastifyRequest) => ErrorWriter | undefined;
}

const bodyLimit = 64 * 1024;

/** A Fastify instance with everything that is the same for every route. */
export function createHttp({
  config,
  newId,
  log,
  metrics,
  caller,
  isInjectedFault,
  onFailure,
  pageErrorWriter,
}: HttpParts): FastifyInstance {
  const logAccess = createAccessLog(log, caller);
  // Thousands of connections may break off together, or send what is no request: to refuse one takes 0.1 ms.
  const paced = createPacer(8);
  const refused = new Set<Socket>();
  const app: FastifyInstance = fastify({
    bodyLimit,
    genReqId: () => newId('req'),
    requestIdHeader: false,
    trustProxy: config.trustProxy.length > 0 ? [...config.trustProxy] : false,
    requestTimeout: 15_000,
    // Without a byte in either direction, as of a client that asks for much and reads nothing. Streams send every 25 s.
    connectionTimeout: 120_000,
    keepAliveTimeout: 72_000,
    // An id that is too long is unknown, like any other wrong id, and not an error of the router.
    routerOptions: { maxParamLength: bodyLimit },
    rewriteUrl: ({ url = '/' }) => cutQuery(originForm(url)),
    http: {
      // A request without a Host is refused below, with the headers that every answer has.
      requireHostHeader: false,
      headersTimeout: 10_000,
      connectionsCheckingInterval: 1000,
      // The longest `state` of an authorization request fits into the URL, even encoded twice in a `return_to`.
      maxHeaderSize: bodyLimit,
      shouldUpgradeCallback: isWebSocketUpgrade,
    },
    // A closing server still answers requests; /readyz tells the balancer to send no more.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    frameworkErrors: (error, request, reply) => refuseUnrouted(error, request, reply),
    clientErrorHandler(error, socket) {
      if (refused.has(socket)) return;
      refused.add(socket.pause());
      paced(() => {
        refused.delete(socket);
        refuseClient(error, socket.resume());
      });
    },
  });

  const proxies = createAddressRules(config.trustProxy);
  const reading = readRequestsSingly(app.server, { isExempt: proxies.isOpened });
  const connections = limitConnections(app.server, { isExempt: proxies.isOpened, idleSince: reading.idleSince });
  let isClosing = false;
  app.addHook('preClose', async () => {
    isClosing = true;
    await connections.finish();
    // What they have sent is read in the next iteration.
    await nextIteration();
    await nextIteration();
    // Then Fastify closes connections without a request.
    reading.finish();
    await nextIteration();
  });
  // An unknown expectation may be ignored (RFC 9110, section 10.1.1); Node would answer 417.
  app.server.on('checkExpectation', app.routing);
  app.decorateRequest('caller', function (this: FastifyRequest) {
    return caller(this);
  });
  app.decorateReply('errorCode', undefined);
  app.decorateReply('errorDetails', undefined);
  app.setValidatorCompiler(compileValidator);
  app.setSerializerCompiler(compileSerializer);
  useJsonBodies(app);
  useErrorHandler(app, log, pageErrorWriter);
  const notFound = useNotFound(app, pageErrorWriter);
  const requests = createRequestQueue(sourceOf);
  app.addHook('onRequest', (request, reply, done) => {
    requests.enter(request, () => check(request, reply, done));
  });
  function refuseClient({ code }: Error & { code?: string }, socket: Socket): void {
    if (!socket.writable || (socket.bytesWritten > 0 && code === 'ECONNRESET')) return void socket.destroy();
    const error =
      code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? 'request_timeout'
        : code === 'HPE_HEADER_OVERFLOW'
          ? 'headers_too_large'
          : 'bad_request';
    endWith(rawErrorResponse(error, newId('req')), socket);
  }
  function check(request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void {
    // The client may have gone while the request waited.
    if (request.raw.destroyed) return void reply.hijack();
    if (!namesOneHost(request)) return void refuseRaw(request, reply);
    cutContentType(request);
    setCommonHeaders(request, reply);
    if (isClosing || headLength(request) > largeHead) reply.header('connection', 'close');
    // Before the body is read, so that an unknown path is 404 whatever the body is.
    const problem = (config.development ? misdirected(request, proxies.isOpened) : undefined) ?? undecodable(request);
    if (!problem && request.is404) notFound(request, reply);
    else done(problem);
  }
  /** No hook runs for a path that the router cannot decode. */
  function refuseUnrouted(error: Error, request: FastifyRequest, reply: FastifyReply): void {
    requests.enter(request, () => {
      if (request.raw.destroyed) return;
      setCommonHeaders(request, reply);
      reply.raw.once('finish', () => logAccess(request, reply, reply.elapsedTime));
      answerError(toHttpError(error, request, log), request, reply);
    });
  }
  limitHeldBytes(app);
  app.addHook('onSend', (request, reply, payload, done) => {
    if (connections.isReadSlotWanted(request.socket) && !reply.hasHeader('connection'))
      reply.header('connection', 'close');
    done(null, payload);
  });
  app.addHook('onResponse', (request, reply, done) => {
    const ms = reply.elapsedTime;
    if (!isInjectedFault(reply))
      metrics.requests.count(request.method, request.routeOptions.url ?? 'none', reply.statusCode, ms / 1000);
    logAccess(request, reply, ms);
    if (reply.statusCode >= 400) onFailure(request, reply);
    // Also of an answer that had said nothing of it. A request that came behind it is answered first.
    if (isClosing && request.socket.readableLength === 0) request.socket.destroySoon();
    done();
  });
  return app;
}

/**
 * `GET http://host/path`, as to a proxy, means the same as `GET /path` (RFC 9112, section 3.2.2). The router takes
 * anything else, such as `GET *`, for `/`: with a slash before it, it is an unknown path.
 */
function originForm(url: string): string {
  if (url.startsWith('/')) return url;
  const path = url.replace(/^https?:\/\/[^/?#]*\/?/i, '/');
  return path.startsWith('/') ? path : `/${path}`;
}

const maxParameters = 100;

/**
 * What follows a hundred parameters is ignored, like every parameter that is not known: to parse and to log thousands of
 * them takes milliseconds, in which nobody else is served.
 */
function cutQuery(url: string): string {
  if (url.length < 2 * maxParameters) return url;
  let end = url.indexOf('?');
  for (let count = 0; end >= 0 && count < maxParameters; count += 1) end = url.indexOf('&', end + 1);
  return end < 0 ? url : url.slice(0, end);
}

const maxContentType = 256;

/** The type and its boundary are short. Of 60,000 characters each parameter would be parsed, twice, in 12 ms. */
function cutContentType({ raw: { headers } }: FastifyRequest): void {
  const type = headers['content-type'];
  if (type !== undefined && type.length > maxContentType) headers['content-type'] = type.slice(0, maxContentType);
}

/** Without credentials, the path: it may contain a key. */
const sourceOf = ({ ip, url, headers }: FastifyRequest): RequestSource => ({
  address: networkOf(ip),
  credential: credentialOf(headers) ?? pathOf(url),
});

const pathOf = (url: string): string => url.replace(/\?.*/s, '');

/** Node.js keeps the last request of an idle connection in memory. One with so many characters is closed instead. */
const largeHead = 8 * 1024;

const headLength = ({ raw }: FastifyRequest): number =>
  raw.rawHeaders.reduce((sum, { length }) => sum + length, raw.url?.length ?? 0);

/** RFC 9112, section 3.2. With two Host headers, a proxy and this server might each believe another one. */
function namesOneHost(request: FastifyRequest): boolean {
  const count = countHeader(request, 'host');
  return count === 1 || (count === 0 && request.raw.httpVersion === '1.0');
}

function refuseRaw(request: FastifyRequest, reply: FastifyReply): void {
  reply.hijack();
  endWith(rawErrorResponse('bad_request', request.id), request.raw.socket);
}

/** How long a client may take to close a connection after its last answer, without which Node.js leaves it half open. */
const lingerMs = 5000;

function endWith(answer: string, socket: Socket): void {
  socket.setTimeout(lingerMs).end(answer);
}

function setCommonHeaders(request: FastifyRequest, reply: { header(name: string, value: string): unknown }): void {
  reply.header('x-request-id', request.id);
  reply.header('x-content-type-options', 'nosniff');
  if (request.url.startsWith('/v1')) reply.header('cache-control', 'no-store');
}

/** In development the server is for this machine alone: a tunnel or a proxy would publish the demo world. */
function misdirected(request: FastifyRequest, isProxy: (address: string) => boolean): HttpError | undefined {
  const host = URL.canParse(`http://${request.host}`) ? new URL(`http://${request.host}`).hostname : '';
  if (!isLoopbackHost(host))
    return httpError('misdirected_request', {
      message: `This server runs in development and answers only on loopback, not as "${host}". To publish it set BASE_URL, AUTH_URL, SECRET_KEY and NODE_ENV=production.`,
    });
  const forwarded = Object.keys(request.headers).find(
    (name) => name === 'forwarded' || name.startsWith('x-forwarded-'),
  );
  if (forwarded && !isProxy(unmapped(request.socket.remoteAddress ?? '')))
    return httpError('misdirected_request', {
      message: `This server runs in development and does not trust the proxy that sent "${forwarded}". Set TRUST_PROXY to its address, and BASE_URL and AUTH_URL to the public address.`,
    });
  return undefined;
}

/** PostgreSQL accepts no NUL in a parameter, so a path that contains one is 404, like one that cannot be decoded. */
const undecodable = ({ url }: FastifyRequest): HttpError | undefined =>
  url.includes('%00') && pathOf(url).includes('%00') ? httpError('not_found') : undefined;

/** Fastify answers 404 for a known path with another method; the contract wants 405 with `Allow`. */
function useNotFound(
  app: FastifyInstance,
  pageErrorWriter: HttpParts['pageErrorWriter'],
): (request: FastifyRequest, reply: FastifyReply) => unknown {
  const paths = new Map<string, { matches: RegExp; methods: Set<string>; write: ErrorWriter | undefined }>();
  app.addHook('onRoute', ({ url, method, config }) => {
    const known = paths.get(url) ?? { matches: toRegExp(url), methods: new Set(), write: config?.writeError };
    for (const name of [method].flat()) known.methods.add(name);
    paths.set(url, known);
  });
  const notFound = (request: FastifyRequest, reply: FastifyReply): unknown => {
    const path = pathOf(request.url);
    const known = [...paths.values()].filter(({ matches }) => matches.test(path));
    const [first] = known;
    if (!first) return answerError(httpError('not_found'), request, reply, pageErrorWriter(request));
    const allow = [...new Set(known.flatMap(({ methods }) => [...methods]))].sort().join(', ');
    const error = httpError('method_not_allowed', { headers: { allow } });
    return answerError(error, request, reply, first.write ?? pageErrorWriter(request));
  };
  app.setNotFoundHandler(notFound);
  return notFound;
}

const toRegExp = (route: string): RegExp =>
  new RegExp(
    `^${route
      .replace(/[.+?^${}()|[\]\\]/g, '\\$&')
      .replace(/:[A-Za-z]+/g, '[^/]+')
      .replace(/\*/g, '.*')}$`,
  );
