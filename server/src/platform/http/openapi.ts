import type { FastifyInstance, RouteOptions } from 'fastify';
import type { ErrorDetail } from './http-error.ts';
import {
  type DescribedError,
  errorContent,
  frameContent,
  hoist,
  type Json,
  parametersOf,
  requestContent,
  responseContent,
} from './openapi-content.ts';

/**
 * The API document (OpenAPI 3.1), made from the routes' own schemas. Routes that name an `operationId` are in it; one
 * below /v1 that lacks it, or says less than a reader needs, is refused.
 * Schemas with a `title` become components.
 */
declare module 'fastify' {
  interface FastifySchema {
    operationId?: string;
    summary?: string;
    description?: string;
    tags?: readonly string[];
    /** Example of the request body and of the success response. */
    requestExample?: unknown;
    responseExample?: unknown;
    /** Several of the request body, by name. */
    requestExamples?: Record<string, { summary: string; value: unknown }>;
    /** The body can also be form-encoded. */
    requestForms?: boolean;
    responseHeaders?: Record<string, string>;
    /** Of the success response; JSON when absent. */
    responseType?: string;
    bodyOptional?: boolean;
    /** The frames of a WebSocket that this route opens, as unions by `taggedUnion`. */
    frames?: { readonly server: object; readonly client: object };
    /** Where the route is served, if not where the document says. */
    servers?: readonly { url: string; description: string }[];
  }
  interface FastifyContextConfig {
    /** No guard stands before the handler, which decides itself who the caller is. */
    checksItself?: boolean;
  }
}

export interface DocumentInfo {
  readonly title: string;
  readonly description: string;
  /** The page that explains the API. */
  readonly documentation: string;
  readonly servers: readonly { url: string; description: string }[];
  readonly tags: readonly { name: string; description: string }[];
  readonly securitySchemes: Json;
  /** The example of a broken rule, for `validation_failed`. */
  readonly brokenRule: ErrorDetail;
  /** Requests that the server sends, by name. */
  readonly webhooks: Readonly<Record<string, WebhookInfo>>;
  /** Fields of our own, `x-…`, at the top of the document. */
  readonly extensions: Json;
  /** What a route needs of its caller, and the headers that its answers carry for it. */
  readonly describe: (route: RouteOptions) => {
    security: readonly Json[];
    headers: Record<string, string>;
    note?: string;
    /** Fields of our own, `x-…`. */
    extensions?: Json;
  };
}

interface WebhookInfo {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly headers: unknown;
  readonly body: unknown;
  readonly examples: Readonly<Record<string, { summary: string; value: unknown }>>;
}

/** Collects the routes as they are registered; the returned function makes the document. */
export function collectOpenApi(app: FastifyInstance, info: DocumentInfo): () => Json {
  const routes: RouteOptions[] = [];
  app.addHook('onRoute', (route) => {
    if (route.method === 'HEAD') return;
    if (route.schema?.operationId) routes.push(route);
    const missing = route.url.startsWith('/v1/') ? missingParts(route, info) : [];
    if (missing.length > 0) throw new Error(`${route.method} ${route.url} needs ${missing.join(', ')}`);
  });
  return () => {
    const components: Json = {};
    const paths: Record<string, Json> = {};
    for (const route of routes) {
      const path = route.url.replace(/:(\w+)/g, '{$1}');
      paths[path] ??= {};
      for (const method of [route.method].flat())
        paths[path][method.toLowerCase()] = operation(route, info, components);
    }
    const webhooks = Object.entries(info.webhooks).map(([name, webhook]) => [name, receiver(webhook, components)]);
    const sorted = Object.fromEntries(Object.entries(components).sort(([a], [b]) => (a < b ? -1 : 1)));
    return {
      openapi: '3.1.0',
      info: {
        title: info.title,
        version: '1.0',
        description: info.description,
        contact: { name: info.title, url: info.documentation },
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: info.servers,
      tags: info.tags,
      paths,
      webhooks: Object.fromEntries(webhooks),
      components: { securitySchemes: info.securitySchemes, schemas: sorted },
      ...info.extensions,
    };
  };
}

function missingParts(route: RouteOptions, info: DocumentInfo): string[] {
  const { operationId, summary, description, tags = [], response = {}, responseExample } = route.schema ?? {};
  const answers = response as Record<string, Json>;
  const checksItself = route.config?.checksItself === true;
  const { security } = info.describe(route);
  const isGuarded = !checksItself && security.length > 0;
  const hasErrors = '401' in answers;
  // A guard by access tokens demands one scope or, as null, none; its errors must be those of the same scope.
  const scopes = security.find(({ oauth2 }) => oauth2)?.oauth2 as string[] | undefined;
  const scope = scopes?.[0] ?? null;
  const rules: [good: boolean, part: string][] = [
    [operationId !== undefined, 'an operationId'],
    [summary !== undefined, 'a summary'],
    [description !== undefined, 'a description'],
    [info.tags.some(({ name }) => tags.includes(name)), 'a tag of the API document'],
    [isGuarded || checksItself, 'a guard such as `protect`'],
    [!isGuarded || hasErrors, 'its errors, such as `protectedErrors`'],
    [
      !hasErrors || !scopes || answers['403']?.['x-scope'] === scope,
      `the errors of its guard’s scope, such as \`protectedErrors(${JSON.stringify(scope)})\``,
    ],
    [!['200', '201'].some((status) => answers[status]?.title) || responseExample !== undefined, 'a responseExample'],
  ];
  return rules.filter(([good]) => !good).map(([, part]) => part);
}

/** A webhook is a request to the app, so the response is the app's. */
function receiver({ headers, body, examples, ...words }: WebhookInfo, components: Json): Json {
  const media = { schema: hoist(body, components), examples };
  return {
    post: {
      ...words,
      security: [],
      parameters: parametersOf(headers, 'header', components),
      requestBody: { required: true, content: { 'application/json': media } },
      responses: {
        '2XX': { description: 'Received' },
        '410': { description: 'Not wanted any more: the webhook is switched off' },
        default: { description: 'Sent again later' },
      },
    },
  };
}

function operation(route: RouteOptions, info: DocumentInfo, components: Json): Json {
  const schema = route.schema ?? {};
  const { security, headers, note, extensions } = info.describe(route);
  const parameters = [
    ...parametersOf(schema.params, 'path', components),
    ...parametersOf(schema.querystring, 'query', components),
    ...parametersOf(schema.headers, 'header', components),
  ];
  return {
    operationId: schema.operationId,
    summary: schema.summary,
    description: [schema.description, note].filter(Boolean).join('\n\n'),
    tags: schema.tags,
    security,
    ...(schema.servers ? { servers: schema.servers } : {}),
    ...extensions,
    ...(schema.frames ? { 'x-frames': hoist(schema.frames, components) } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(schema.body
      ? {
          requestBody: {
            required: !schema.bodyOptional,
            content: requestContent(schema, components),
          },
        }
      : {}),
    responses: responses(schema, headers, info, components),
  };
}

function responses(
  schema: NonNullable<RouteOptions['schema']>,
  headers: Record<string, string>,
  info: DocumentInfo,
  components: Json,
): Json {
  const answer: Json = {};
  for (const [status, body] of Object.entries((schema.response ?? {}) as Record<string, Json>)) {
    const errors = body['x-errors'] as DescribedError[] | undefined;
    const extra =
      Number(status) < 300
        ? (schema.responseHeaders ?? {})
        : status === '429'
          ? { 'Retry-After': 'Seconds to wait' }
          : status === '401'
            ? { 'WWW-Authenticate': 'RFC 6750 for a token, RFC 7617 for an app’s credentials' }
            : status.startsWith('3')
              ? { Location: 'Where the browser goes next' }
              : {};
    answer[status] = {
      description: errors
        ? errors.map(({ code, message }) => `\`${code}\`: ${message}`).join('\n\n')
        : (body.description ?? 'Success'),
      headers: describeHeaders({
        'X-Request-Id': 'Our id of this request',
        ...(Number(status) === 401 || Number(status) === 403 ? {} : headers),
        ...extra,
      }),
      ...(status === '101' && schema.frames ? { content: frameContent(schema.frames, components) } : {}),
      ...(body.type === 'null'
        ? {}
        : {
            content: errors
              ? errorContent(body, errors, info.brokenRule, components)
              : responseContent(body, components, schema.responseExample, schema.responseType),
          }),
    };
  }
  // Where a proxy offers WebSockets over HTTP/2, success has a status that linters of documents know, too.
  if (schema.frames) answer['200'] = { description: 'The same through a proxy over HTTP/2 (RFC 8441)' };
  return answer;
}

const describeHeaders = (headers: Record<string, string>): Json =>
  Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: 'string' } }]),
  );
