/**
 * One definition of a request for the samples in all languages: an operation of the API document with the example values
 * of its schemas. Whatever the reader must fill in is a variable: credentials, and ids of their own records.
 */
import { exampleOf } from '../examples.ts';
import { type ApiDocument, accessOf, type Content, contentOf, type Operation } from '../openapi.ts';

/** Read from the environment by every sample. */
export interface Variable {
  readonly variable: string;
}

export type Value = string | number | boolean | null | Variable | readonly Value[] | { readonly [name: string]: Value };

export interface Call {
  readonly operationId: string;
  readonly method: string;
  /** What the program does with the address: call it, read from it for ever, or send a browser there. */
  readonly kind: 'call' | 'stream' | 'socket' | 'page';
  readonly access: ReturnType<typeof accessOf>['by'];
  readonly server: string;
  /** Texts and variables, joined. */
  readonly path: readonly (string | Variable)[];
  readonly query: Readonly<Record<string, Value>>;
  readonly headers: Readonly<Record<string, Value>>;
  readonly body: { readonly form: boolean; readonly value: Readonly<Record<string, Value>> } | undefined;
  /** The response has a JSON body. */
  readonly answersJson: boolean;
}

/** Values that replace those of the document: by name, of the path, the query, a header or the body. */
export type Overrides = Readonly<Record<string, Value>>;

export const isVariable = (value: unknown): value is Variable =>
  value !== null && typeof value === 'object' && 'variable' in value;

/** Fields of OAuth whose example would not work for anybody. */
const secretFields = [
  ...['client_id', 'client_secret', 'code', 'code_verifier', 'code_challenge', 'state'],
  ...['refresh_token', 'device_code', 'token'],
];

const variable = (name: string): Variable => ({ variable: name.toUpperCase() });

/** One call for each example of the body that the document gives; most operations have one. */
export function callsOf(operation: Operation, document: ApiDocument): { title: string; call: Call }[] {
  const [, content] = contentOf(operation.requestBody?.content) ?? [];
  const named = Object.values(content?.examples ?? {});
  if (!content || named.length === 0) return [{ title: '', call: callOf(operation, document) }];
  return named.map(({ summary = '', value }) => ({
    title: summary,
    call: callOf(operation, document, {}, { ...content, example: value }),
  }));
}

export function callOf(
  operation: Operation,
  document: ApiDocument,
  overrides: Overrides = {},
  content: Content | undefined = bodyOf(operation, overrides),
): Call {
  const { parameters = [], responses } = operation;
  const body = content && (exampleOf(content, document) as Record<string, Value>);
  const form = operation.requestBody?.content['application/x-www-form-urlencoded'] !== undefined;
  const kind = kindOf(operation);
  const secrets = form || kind === 'page' ? secretFields : [];
  const fill = (values: Readonly<Record<string, Value>>) =>
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => [
        name,
        overrides[name] ?? (secrets.includes(name) ? variable(name) : value),
      ]),
    );
  const query = parameters
    .filter((each) => each.in === 'query' && (each.required || kind === 'page' || each.name in overrides))
    .map(({ name, schema }) => [name, schema.examples?.[0] ?? schema.const ?? null]);
  const headers = parameters
    .filter((each) => each.in === 'header' && (each.schema.examples || each.name in overrides))
    .map(({ name, schema }) => [name, overrides[name] ?? schema.examples?.[0] ?? null]);
  // With its secret a client authenticates by HTTP Basic; a public one names itself in the body.
  const { client_secret, ...rest } = body ?? {};
  const { client_id: _, ...withoutClient } = rest;
  const access = accessOf(operation).by;
  const isPublic = access === 'body' && client_secret === undefined;
  return {
    operationId: operation.operationId,
    method: operation.method,
    kind,
    access: isPublic ? 'nothing' : access === 'body' ? 'app' : access,
    server: operation.servers?.[0]?.url ?? document.servers[0]?.url ?? '',
    path: pathOf(operation.path, overrides),
    query: fill(Object.fromEntries(query)),
    headers: form ? refreshKey(body) : titled(Object.fromEntries(headers)),
    body: body && { form, value: fill(form && !isPublic ? withoutClient : body) },
    answersJson: contentOf(success(responses)?.content)?.[0] === 'application/json',
  };
}

const titled = (headers: Readonly<Record<string, Value>>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [headerTitle(name), value]));

/** Of the requests for tokens only a refresh has a key: a new one each time. */
const refreshKey = (body: Readonly<Record<string, Value>> = {}) =>
  titled('refresh_token' in body ? { 'idempotency-key': variable('idempotency_key') } : {});

const success = (responses: Operation['responses']) =>
  Object.entries(responses).find(([status]) => Number(status) < 300)?.[1];

/** The example that has the `grant_type` of the overrides, where there are several. */
function bodyOf({ requestBody }: Operation, { grant_type }: Overrides): Content | undefined {
  const [, content] = contentOf(requestBody?.content) ?? [];
  const named = typeof grant_type === 'string' ? content?.examples?.[grant_type] : undefined;
  return content && named ? { ...content, example: named.value } : content;
}

/** `Idempotency-Key` for `idempotency-key`. */
export const headerTitle = (header: string): string => header.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase());

function kindOf({ responses }: Operation): Call['kind'] {
  if (responses['101']) return 'socket';
  const [type] = contentOf(responses['200']?.content) ?? [];
  return type === 'text/event-stream' ? 'stream' : type === 'text/html' ? 'page' : 'call';
}

/** `/v1/tips/{id}` with the variable TIP_ID, `/v1/webhooks/{id}/deliveries/{delivery}` also with DELIVERY_ID. */
function pathOf(path: string, overrides: Overrides): Call['path'] {
  return path.split(/(\{\w+\})/).flatMap((part, index, parts) => {
    if (part === '') return [];
    const name = /^\{(\w+)\}$/.exec(part)?.[1];
    if (name === undefined) return [part];
    const given = overrides[name];
    const collection = /(\w+?)s\/$/.exec(parts[index - 1] ?? '')?.[1] ?? name;
    return [typeof given === 'string' ? given : variable(`${name === 'id' ? collection : name}_id`)];
  });
}

/** The variables of a call, in the order of their use. */
export function variablesOf({ kind, access, path, query, headers, body }: Call): string[] {
  const inside = (value: Value): string[] => {
    if (isVariable(value)) return [value.variable];
    return value !== null && typeof value === 'object' ? Object.values(value).flatMap(inside) : [];
  };
  const shown = { token: ['TOKEN'], app: ['CLIENT_ID', 'CLIENT_SECRET'], body: [], nothing: [] }[access];
  const socket = kind === 'socket' && access !== 'app' ? ['SOCKET_TOKEN'] : [];
  const used = [...path.flatMap(inside), ...inside(query), ...inside(headers), ...inside(body?.value ?? {})];
  return [...new Set([...shown, ...socket, ...used])];
}
