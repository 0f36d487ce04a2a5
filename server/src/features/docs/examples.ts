import {
  type ApiDocument,
  accessOf,
  type Content,
  contentOf,
  type Operation,
  resolve,
  type Schema,
} from './openapi.ts';

/** The example that the document gives for a body, or one made from the examples of its fields. */
export function exampleOf({ example, schema }: Content, document: ApiDocument): unknown {
  return example ?? (schema ? sample(schema, document) : undefined);
}

function sample(schema: Schema, document: ApiDocument, depth = 0): unknown {
  const whole = resolve(schema, document);
  const given = whole.examples?.[0] ?? whole.const ?? whole.default ?? whole.enum?.[0];
  if (given !== undefined || depth > 5) return given ?? null;
  const [type] = [whole.type ?? 'null'].flat();
  if (type === 'array') return whole.items ? [sample(whole.items, document, depth + 1)] : [];
  if (type === 'object')
    return Object.fromEntries(
      Object.entries(whole.properties ?? {}).map(([name, property]) => [name, sample(property, document, depth + 1)]),
    );
  return { string: '…', integer: 1, number: 1, boolean: true }[type ?? ''] ?? null;
}

/** The answer switches protocols, so curl cannot make this request. */
export const opensSocket = ({ responses }: Operation): boolean => responses['101'] !== undefined;

/** A command to paste. Only credentials are left to shell variables. */
export function curlOf(operation: Operation, document: ApiDocument): string {
  const parameters = operation.parameters ?? [];
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const example = parameters.find((each) => each.name === name)?.schema.examples?.[0];
    return typeof example === 'string' ? example : `$${name.toUpperCase()}`;
  });
  const query = parameters
    .filter((each) => each.in === 'query' && each.required)
    .map(({ name, schema }) => `${name}=${encodeURIComponent(String(schema.examples?.[0] ?? '…'))}`);
  const address = `${document.servers[0]?.url ?? ''}${path}${query.length > 0 ? `?${query.join('&')}` : ''}`;
  if (opensSocket(operation)) return `npx wscat -c "${address.replace(/^http/, 'ws')}?token=$SOCKET_TOKEN"`;
  const headers = parameters
    .filter((each) => each.in === 'header' && each.schema.examples)
    .map(({ name, schema }) => `-H "${headerTitle(name)}: ${schema.examples?.[0]}"`);
  return [
    `curl ${streams(operation) ? '-N ' : ''}${operation.method === 'GET' ? '' : `-X ${operation.method} `}"${address}"`,
    ...credentials(operation),
    ...headers,
    ...body(operation, document),
  ].join(' \\\n  ');
}

const streams = ({ responses }: Operation): boolean =>
  contentOf(responses['200']?.content)?.[0] === 'text/event-stream';

/** No credentials where they are optional: the body carries them then. */
function credentials(operation: Operation): string[] {
  const { by } = accessOf(operation);
  if (by === 'token') return ['-H "Authorization: Bearer $TOKEN"'];
  return by === 'app' ? ['-u "$CLIENT_ID:$CLIENT_SECRET"'] : [];
}

function body({ requestBody }: Operation, document: ApiDocument): string[] {
  const [type, content] = contentOf(requestBody?.content) ?? [];
  if (!type || !content) return [];
  const example = exampleOf(content, document);
  const text =
    type === 'application/json' ? JSON.stringify(example, null, 2).replaceAll('\n', '\n  ') : String(example);
  return [`-H "Content-Type: ${type}"`, `-d '${text.replaceAll("'", `'\\''`)}'`];
}

/** `Idempotency-Key` for `idempotency-key`. */
export const headerTitle = (header: string): string => header.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase());
