/** Schemas, bodies and parameters of routes in the form of the API document. */
import type { FastifySchema } from 'fastify';
import type { ErrorDetail } from './http-error.ts';

export type Json = { [key: string]: unknown };

/** One error that a response can be, as `describeErrors` puts it into the schema. */
export interface DescribedError {
  readonly code: string;
  readonly message: string;
}

const content = (schema: unknown, components: Json, example: unknown, type = 'application/json'): Json => ({
  [type]: { schema: hoist(schema, components), ...(example === undefined ? {} : { example }) },
});

/** A switched protocol has no body: what follows are frames of both sides. `x-frames` tells whose. */
export const frameContent = ({ server, client }: NonNullable<FastifySchema['frames']>, components: Json): Json => ({
  'application/json': { schema: { oneOf: [hoist(server, components), hoist(client, components)] } },
});

export function requestContent(schema: FastifySchema, components: Json): Json {
  const { 'application/json': json } = content(schema.body, components, schema.requestExample);
  const media = { ...(json as Json), ...(schema.requestExamples ? { examples: schema.requestExamples } : {}) };
  return {
    'application/json': media,
    ...(schema.requestForms ? { 'application/x-www-form-urlencoded': media } : {}),
  };
}

/** A response with examples of its own is an error that does not use the common envelope. */
export function responseContent(body: Json, components: Json, example: unknown, type: string | undefined): Json {
  const { 'x-examples': examples, description: _, ...plain } = body;
  return examples === undefined
    ? content(body, components, example, type)
    : { 'application/json': { schema: hoist(plain, components), examples } };
}

export function errorContent(
  schema: Json,
  errors: readonly DescribedError[],
  brokenRule: ErrorDetail,
  components: Json,
): Json {
  const { description: _, 'x-errors': __, 'x-scope': ___, ...plain } = schema;
  const examples = errors.map(({ code, message }) => {
    const details = code === 'validation_failed' ? { details: [brokenRule] } : {};
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

export function parametersOf(schema: unknown, location: 'path' | 'query' | 'header', components: Json): Json[] {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...rest } = property;
    return {
      name,
      in: location,
      required: location === 'path' || required.includes(name),
      description,
      schema: hoist(rest, components),
    };
  });
}

/** Replaces titled schemas by references to components, and drops `x-rule`: the words of a refusal. */
export function hoist(schema: unknown, components: Json): unknown {
  if (Array.isArray(schema)) return schema.map((item) => hoist(item, components));
  if (schema === null || typeof schema !== 'object') return schema;
  const source = schema as Json;
  const copy: Json = {};
  for (const [key, value] of Object.entries(source)) {
    if (key === 'x-rule') continue;
    copy[key] = key === 'examples' || key === 'default' ? value : hoist(value, components);
  }
  const name = source.title;
  if (typeof name !== 'string' || source.type === undefined) return copy;
  components[name] = copy;
  return { $ref: `#/components/schemas/${name}` };
}
