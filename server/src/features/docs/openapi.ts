/** The API document as the reference reads it: the parts that it shows, and the fields of a schema as rows of text. */
import { isDeepStrictEqual } from 'node:util';

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly discriminator?: { readonly mapping: Readonly<Record<string, string>> };
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly 'x-decimals'?: number;
  readonly 'x-not-blank'?: boolean;
  readonly 'x-no-controls'?: boolean;
}

export interface Content {
  readonly schema?: Schema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly summary?: string; readonly value: unknown }>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

export interface Answer {
  readonly description?: string;
  readonly headers?: Readonly<Record<string, { readonly description?: string }>>;
  readonly content?: Readonly<Record<string, Content>>;
}

interface OperationObject {
  readonly operationId: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly servers?: readonly { readonly url: string }[];
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Readonly<Record<string, Content>> };
  readonly responses: Readonly<Record<string, Answer>>;
  readonly 'x-frames'?: { readonly server: Schema; readonly client: Schema };
  readonly 'x-rate-limit'?: { readonly group: string; readonly limit: number; readonly window_seconds: number };
}

export interface ApiDocument {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
  };
}

export interface Operation extends OperationObject {
  readonly method: string;
  readonly path: string;
}

export const operationsOf = ({ paths }: ApiDocument): Operation[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  );

interface Tag {
  readonly name: string;
  readonly description: string;
  readonly operations: readonly Operation[];
}

/**
 * The tags in the document's order, then those that its list lacks, each with its operations. A tag without operations is
 * left out.
 */
export function byTag(document: ApiDocument): Tag[] {
  const all = operationsOf(document);
  const unlisted = new Set(all.flatMap(({ tags = ['Other'] }) => tags));
  for (const { name } of document.tags) unlisted.delete(name);
  const tags = [...document.tags, ...[...unlisted].map((name) => ({ name, description: '' }))];
  return tags
    .map((tag) => ({ ...tag, operations: all.filter(({ tags = ['Other'] }) => tags.includes(tag.name)) }))
    .filter(({ operations }) => operations.length > 0);
}

/** What the caller has to show. `body`: the app's credentials, which the body can carry as well. */
type Access =
  | { readonly by: 'token'; readonly scope: string | undefined }
  | { readonly by: 'app' | 'body' | 'nothing' };

/** api-document.ts declares the schemes. */
export function accessOf({ security = [] }: OperationObject): Access {
  const choices = Object.assign({}, ...security) as Readonly<Record<string, readonly string[]>>;
  if (choices.oauth2) return { by: 'token', scope: choices.oauth2[0] };
  const optional = security.some((choice) => Object.keys(choice).length === 0);
  if (choices.client) return { by: optional ? 'body' : 'app' };
  return { by: 'nothing' };
}

/** The body of a request or an answer; JSON where several types are offered. */
export function contentOf(content: Readonly<Record<string, Content>> | undefined): [type: string, Content] | undefined {
  const entries = Object.entries(content ?? {});
  return entries.find(([type]) => type === 'application/json') ?? entries[0];
}

export function resolve(schema: Schema, { components }: ApiDocument): Schema {
  if (schema.$ref === undefined) return schema;
  const { $ref, ...beside } = schema;
  const found = components.schemas[$ref.slice($ref.lastIndexOf('/') + 1)];
  return found ? { ...found, ...beside } : beside;
}

/** One row of a list of fields. Texts may hold inline Markdown. */
export interface Field {
  /** `source.client_id`, `data[].id` */
  readonly path: string;
  readonly type: string;
  readonly required: boolean;
  readonly description: string;
  readonly rules: readonly string[];
  readonly example: unknown;
}

/** No answer is nested deeper. The limit ends a schema that refers to itself. */
const maxDepth = 5;

/** Every field of an object. The fields of a nested object follow its own row. */
export function fieldsOf(schema: Schema, document: ApiDocument, prefix = '', depth = 0): Field[] {
  const { properties = {}, required = [] } = withMergedVariants(resolve(schema, document), document);
  return Object.entries(properties).flatMap(([name, property]) => {
    const path = prefix + name;
    const field = toField(path, property, required.includes(name), document);
    const inner = innerObject(property, document);
    if (!inner || depth >= maxDepth) return [field];
    return [field, ...fieldsOf(inner.schema, document, `${path}${inner.list ? '[]' : ''}.`, depth + 1)];
  });
}

export function toField(path: string, schema: Schema, required: boolean, document: ApiDocument): Field {
  const whole = resolve(schema, document);
  const description = whole.description ?? '';
  const said = description.toLowerCase();
  return {
    path,
    type: typeOf(whole, document),
    required,
    description,
    rules: rulesOf(whole).filter((rule) => !said.includes(rule.toLowerCase())),
    example: whole.examples?.[0],
  };
}

/** The frames of a union, each with the fields beside its `type`. An event's own fields are on its page. */
export function frameVariants(union: Schema, document: ApiDocument) {
  const variants = (resolve(union, document).oneOf ?? []).map((variant) => resolve(variant, document));
  return variants.map(({ properties = {}, required = [], description = '' }) => ({
    type: String(properties.type?.const),
    description,
    fields: Object.entries(properties)
      .filter(([name]) => name !== 'type')
      .map(([name, property]) => toField(name, property, required.includes(name), document)),
  }));
}

/** A union of objects as one object: fields that differ between the variants become a choice. */
function withMergedVariants(schema: Schema, document: ApiDocument): Schema {
  const variants = schema.oneOf?.map((variant) => resolve(variant, document));
  if (!variants) return schema;
  const merged = Object.keys(variants[0]?.properties ?? {}).map((name): [string, Schema] => {
    const choices = variants.flatMap(({ properties }) => properties?.[name] ?? []);
    const [first = {}] = choices;
    if (choices.every(({ const: value }) => value !== undefined))
      return [name, { type: 'string', enum: choices.map((choice) => choice.const) }];
    return [name, choices.every((choice) => isDeepStrictEqual(choice, first)) ? first : { anyOf: choices }];
  });
  return { ...schema, properties: Object.fromEntries(merged), required: variants[0]?.required ?? [] };
}

function innerObject(schema: Schema, document: ApiDocument): { schema: Schema; list: boolean } | undefined {
  const whole = resolve(schema, document);
  const list = whole.items !== undefined;
  const inner = withMergedVariants(list ? resolve(whole.items ?? {}, document) : whole, document);
  return inner.properties ? { schema: inner, list } : undefined;
}

function typeOf(schema: Schema, document: ApiDocument): string {
  if (schema.anyOf)
    return [...new Set(schema.anyOf.map((choice) => typeOf(resolve(choice, document), document)))].join(' or ');
  const names = [schema.type ?? (schema.const === undefined ? 'any' : typeof schema.const)].flat().map((name) => {
    if (name !== 'array') return name;
    const item = schema.items && typeOf(resolve(schema.items, document), document);
    return item ? `list of ${/^\w+$/.test(item) ? `${item}s` : item}` : 'list';
  });
  return names.join(' or ');
}

/** The constraints of a schema in words. */
function rulesOf(schema: Schema): string[] {
  const { minimum, maximum, exclusiveMinimum } = schema;
  const rules: (string | false | undefined)[] = [
    schema.const !== undefined && `always ${code(schema.const)}`,
    schema.enum && `one of ${schema.enum.map(code).join(', ')}`,
    schema.format && formats[schema.format],
    exclusiveMinimum !== undefined && `greater than ${number(exclusiveMinimum)}`,
    between(minimum, maximum, ''),
    schema['x-decimals'] !== undefined && `at most ${decimals[schema['x-decimals']] ?? schema['x-decimals']} decimals`,
    between(schema.minLength, schema.maxLength, ' character'),
    between(schema.minItems, schema.maxItems, ' item'),
    schema.pattern !== undefined && `matches ${code(schema.pattern)}`,
    schema['x-not-blank'] && 'not blank',
    schema['x-no-controls'] && 'no control characters',
    schema.default !== undefined && `default ${code(schema.default)}`,
  ];
  return rules.filter((rule) => typeof rule === 'string');
}

const decimals: Readonly<Record<number, string>> = { 2: 'two' };
const formats: Readonly<Record<string, string>> = { 'date-time': 'date and time, RFC 3339', uri: 'an address' };

function between(least: number | undefined, most: number | undefined, unit: string): string | undefined {
  const plural = (count: number) => (unit === '' || count === 1 ? unit : `${unit}s`);
  if (least !== undefined && most !== undefined) return `${number(least)} to ${number(most)}${plural(most)}`;
  if (most !== undefined) return `at most ${number(most)}${plural(most)}`;
  if (least === 1 && unit !== '') return 'not empty';
  if (least !== undefined) return `at least ${number(least)}${plural(least)}`;
  return undefined;
}

const number = (value: number): string => value.toLocaleString('en-US');
const code = (value: unknown): string => `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
