import { type ApiDocument, resolve, type Schema } from './document.ts';

/** One line of a field table. Texts may hold inline Markdown. */
export interface Field {
  /** `source.client_id`, `data[].id` */
  readonly path: string;
  readonly type: string;
  readonly required: boolean;
  readonly description: string;
  readonly rules: readonly string[];
  readonly example: unknown;
}

/** Deeper than any answer of ours; a schema that refers to itself ends here. */
const maxDepth = 5;

/** Every field of an object, those of objects within it right after them. */
export function fieldsOf(schema: Schema, document: ApiDocument, prefix = '', depth = 0): Field[] {
  const { properties = {}, required = [] } = resolve(schema, document);
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

function innerObject(schema: Schema, document: ApiDocument): { schema: Schema; list: boolean } | undefined {
  const whole = resolve(schema, document);
  const list = whole.items !== undefined;
  const inner = list ? resolve(whole.items ?? {}, document) : whole;
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

/** What a value must keep to, in words. */
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
