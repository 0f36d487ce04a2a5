/**
 * Writes `sdk/src/api-types.ts`: the API document's schemas as TypeScript types, so that the SDK, which imports
 * nothing of the server, cannot differ from the API. With `--check` it fails if the file is out of date.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly description?: string;
}

interface ApiDocument {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
  readonly 'x-scopes': Readonly<Record<string, string>>;
  readonly 'x-close-codes': Readonly<Record<string, string>>;
}

const documentFile = new URL('../openapi.json', import.meta.url);
const typesFile = new URL('../sdk/src/api-types.ts', import.meta.url);

/** The components that the SDK exports, with those that they refer to. `Event` has an older name there. */
const exported = [
  'Me',
  'Profile',
  'TipRequest',
  'TipStats',
  'Trace',
  'VoidRequest',
  'GoalList',
  'AlertRequest',
  'SocketToken',
  'Event',
  'WebhookEvent',
];
const renamed: Readonly<Record<string, string>> = { Event: 'StreamEvent' };

export function sdkTypes(document: ApiDocument): string {
  const { schemas } = document.components;
  const names = new Set<string>();
  function add(name: string): void {
    if (names.has(name)) return;
    names.add(name);
    for (const [, other = ''] of JSON.stringify(schemas[name]).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g))
      add(other);
  }
  for (const name of exported) add(name);
  const text = [
    '// Made from openapi.json by `npm run generate`. Do not edit.\n',
    declaration('Scope', literals(Object.keys(document['x-scopes']))),
    declaration(
      'CloseCode',
      literals(Object.keys(document['x-close-codes']).map(Number)),
      'Why the server closed a socket.',
    ),
    ...[...names].sort().map((name) => {
      const schema = schemas[name] ?? {};
      return declaration(renamed[name] ?? name, typeOf(schema), schema.description);
    }),
  ].join('\n');
  const formatter = fileURLToPath(new URL('../node_modules/.bin/biome', import.meta.url));
  return execFileSync(formatter, ['format', '--stdin-file-path', 'api-types.ts'], { input: text, encoding: 'utf8' });
}

const declaration = (name: string, type: string, description?: string): string =>
  `${comment(description)}export type ${name} = ${type};\n`;

const comment = (text?: string): string => (text ? `/** ${text.replace(/\.?$/, '.')} */\n` : '');

const literals = (values: readonly unknown[]): string =>
  values.map((value) => (typeof value === 'string' ? `'${value}'` : String(value))).join(' | ');

function typeOf(schema: Schema): string {
  const name = schema.$ref?.slice(schema.$ref.lastIndexOf('/') + 1);
  if (name !== undefined) return renamed[name] ?? name;
  const values = schema.const === undefined ? schema.enum : [schema.const];
  if (values) return literals(values);
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices) return choices.map(typeOf).join(' | ');
  const types = [schema.type ?? 'unknown'].flat();
  return types.map((type) => builders[type]?.(schema) ?? type).join(' | ');
}

const builders: Readonly<Record<string, (schema: Schema) => string>> = {
  integer: () => 'number',
  array: ({ items = {} }) => `(${typeOf(items)})[]`,
  object({ properties = {}, required = [] }) {
    const fields = Object.entries(properties).map(([name, schema]) => {
      const field = `${name}${required.includes(name) ? '' : '?'}: ${typeOf(schema)}`;
      return `${comment(schema.description)}${field}`;
    });
    // The formatter leaves an object that begins on a new line on several lines.
    const start = fields.some((field) => field.includes('\n')) ? '{\n' : '{ ';
    return fields.length === 0 ? 'Record<string, never>' : `${start}${fields.join(';\n')} }`;
  },
};

if (import.meta.main) {
  const types = sdkTypes(JSON.parse(readFileSync(documentFile, 'utf8')));
  if (!process.argv.includes('--check')) writeFileSync(typesFile, types);
  else if (readFileSync(typesFile, 'utf8') !== types) {
    console.error('sdk/src/api-types.ts is out of date. Run: npm run generate');
    process.exitCode = 1;
  }
}
