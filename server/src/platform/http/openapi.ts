import type { FastifyInstance, FastifySchema, RouteOptions } from 'fastify';
import type { ErrorDetail } from './http-error.ts';

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
  }
  interface FastifyContextConfig {
    /** No guard stands before the handler, which decides itself who the caller is. */
    checksItself?: boolean;
  }
}

type Json = { [key: string]: unknown };

/** One error that a response can be, as `describeErrors` puts it into the schema. */
interface DescribedError {
  readonly code: string;
  readonly message: string;
}

export interface DocumentInfo {
  readonly title: string;
  readonly description: string;
  readonly servers: readonly { url: string; description: string }[];
  readonly tags: readonly { name: string; description: string }[];
  readonly securitySchemes: Json;
  /** The example of a broken rule, for `validation_failed`. */
  readonly brokenRule: ErrorDetail;
  /** Requests that the server sends, by name. */
  readonly webhooks: Readonly<Record<string, { summary: string; description: string; tags: string[]; body: unknown }>>;
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
    const webhooks = Object.entries(info.webhooks).map(([name, { body, ...words }]) => {
      const post = { ...words, requestBody: { required: true, content: content(body, components, undefined) } };
      return [name, { post: { ...post, responses: { '2XX': { description: 'Received' } } } }];
    });
    const sorted = Object.fromEntries(Object.entries(components).sort(([a], [b]) => (a < b ? -1 : 1)));
    return {
      openapi: '3.1.0',
      info: {
        title: info.title,
        version: '1.0',
        description: info.description,
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
  const { operationId, summary, tags = [], response = {}, responseExample } = route.schema ?? {};
  const answers = response as Record<string, Json>;
  const isGuarded = info.describe(route).security.length > 0;
  const rules: [good: boolean, part: string][] = [
    [operationId !== undefined, 'an operationId'],
    [summary !== undefined, 'a summary'],
    [info.tags.some(({ name }) => tags.includes(name)), 'a tag of the API document'],
    [isGuarded || route.config?.checksItself === true, 'a guard such as `protect`'],
    [!isGuarded || '401' in answers, 'its errors, such as `protectedErrors`'],
    [!['200', '201'].some((status) => answers[status]?.title) || responseExample !== undefined, 'a responseExample'],
  ];
  return rules.filter(([good]) => !good).map(([, part]) => part);
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
    ...extensions,
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
      ...(body.type === 'null'
        ? {}
        : {
            content: errors
              ? errorContent(body, errors, info, components)
              : responseContent(body, components, schema.responseExample, schema.responseType),
          }),
    };
  }
  return answer;
}

const describeHeaders = (headers: Record<string, string>): Json =>
  Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: 'string' } }]),
  );

const content = (schema: unknown, components: Json, example: unknown, type = 'application/json'): Json => ({
  [type]: { schema: hoist(schema, components), ...(example === undefined ? {} : { example }) },
});

function requestContent(schema: FastifySchema, components: Json): Json {
  const { 'application/json': json } = content(schema.body, components, schema.requestExample);
  const media = { ...(json as Json), ...(schema.requestExamples ? { examples: schema.requestExamples } : {}) };
  return {
    'application/json': media,
    ...(schema.requestForms ? { 'application/x-www-form-urlencoded': media } : {}),
  };
}

/** A response with examples of its own is an error that does not use the common envelope. */
function responseContent(body: Json, components: Json, example: unknown, type: string | undefined): Json {
  const { 'x-examples': examples, description: _, ...plain } = body;
  return examples === undefined
    ? content(body, components, example, type)
    : { 'application/json': { schema: hoist(plain, components), examples } };
}

function errorContent(schema: Json, errors: readonly DescribedError[], info: DocumentInfo, components: Json): Json {
  const { description: _, 'x-errors': __, ...plain } = schema;
  const examples = errors.map(({ code, message }) => {
    const details = code === 'validation_failed' ? { details: [info.brokenRule] } : {};
    return [
      code,
      {
        value: {
          error: { code, message, request_id: 'req_01kaxk2t5v7f9sd3n8q6w4y0zr', ...details },
        },
      },
    ];
  });
  return { 'application/json': { schema: hoist(plain, components), examples: Object.fromEntries(examples) } };
}

function parametersOf(schema: unknown, place: 'path' | 'query' | 'header', components: Json): Json[] {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...rest } = property;
    return {
      name,
      in: place,
      required: place === 'path' || required.includes(name),
      description,
      schema: hoist(rest, components),
    };
  });
}

/** Replaces titled schemas by references to components, and drops what only the server needs. */
function hoist(schema: unknown, components: Json): unknown {
  if (Array.isArray(schema)) return schema.map((item) => hoist(item, components));
  if (schema === null || typeof schema !== 'object') return schema;
  const source = schema as Json;
  const copy: Json = {};
  for (const [key, value] of Object.entries(source)) {
    if (key === 'x-rule' || key.startsWith('~')) continue;
    copy[key] = key === 'examples' || key === 'default' ? value : hoist(value, components);
  }
  const name = source.title;
  if (typeof name !== 'string' || source.type === undefined) return copy;
  components[name] = copy;
  return { $ref: `#/components/schemas/${name}` };
}
