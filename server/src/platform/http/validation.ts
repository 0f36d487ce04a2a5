import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { FastifySchemaCompiler } from 'fastify';
import { hasControls } from '../names.ts';
import { isBlank } from '../web/browser/text.ts';
import { type ErrorDetail, validationFailed } from './http-error.ts';

/**
 * Ajv checks every rule of a schema, and each broken rule becomes one entry of `details`. Bodies are not converted:
 * "5" is not a number. Query parameters are text, so those of an integer type are converted first.
 */
interface ObjectSchema {
  readonly properties?: Readonly<Record<string, { readonly type?: unknown; readonly [key: string]: unknown }>>;
}

/** Returns the rules of the schema that the data breaks. */
export type Check = (data: unknown) => ErrorDetail[];

const ajv = new Ajv({ allErrors: true, useDefaults: true, strict: true, strictTypes: false, allowUnionTypes: true });
// Keywords of our own, for rules that JSON Schema cannot express well.
ajv.addVocabulary(['x-rule']);
ajv.addKeyword({
  keyword: 'x-decimals',
  type: 'number',
  validate: hasDecimals,
  error: { message: 'too many decimals' },
});
ajv.addKeyword({ keyword: 'x-not-blank', type: 'string', validate: isNotBlank, error: { message: 'blank' } });
ajv.addKeyword({ keyword: 'x-no-controls', type: 'string', validate: hasNoControls, error: { message: 'controls' } });

/** The schema is compiled when it is first used: compiling all of them would take a tenth of the server's start. */
export function createCheck(schema: object): Check {
  const shorten = createShortener(schema);
  let validate: ValidateFunction | undefined;
  return (data) => {
    validate ??= ajv.compile(schema);
    return validate(shorten(data)) ? [] : (validate.errors ?? []).map((error) => toDetail(error, schema));
  };
}

/** Cuts lists that are too long, by any number, to one item too many: a body has room for 30,000 wrong ones. */
function createShortener({ properties = {} }: ObjectSchema): (data: unknown) => unknown {
  const lists = Object.entries(properties).flatMap(([field, { maxItems }]) =>
    typeof maxItems === 'number' ? [{ field, maxItems }] : [],
  );
  return (data) => {
    for (const { field, maxItems } of lists) {
      const list: unknown = data !== null && typeof data === 'object' ? Reflect.get(data, field) : undefined;
      if (Array.isArray(list) && list.length > maxItems) list.length = maxItems + 1;
    }
    return data;
  };
}

export const compileValidator: FastifySchemaCompiler<ObjectSchema> = ({ schema, httpPart }) => {
  const check = createCheck(schema);
  const integers = httpPart === 'body' ? [] : integerNames(schema);
  return (data: unknown) => {
    if (integers.length > 0) readIntegers(integers, data);
    const broken = check(data);
    // Not `{ value: data }`: Fastify would then copy all headers whenever `request.headers` is read.
    return broken.length === 0 || { error: validationFailed(...broken) };
  };
};

/** `multipleOf: 0.01` refuses good amounts such as 0.07, because it divides binary fractions. */
function hasDecimals(places: number, value: number): boolean {
  const factor = 10 ** places;
  return Math.round(value * factor) / factor === value;
}

function isNotBlank(_: boolean, value: string): boolean {
  return !isBlank(value);
}

function hasNoControls(_: boolean, value: string): boolean {
  return !hasControls(value);
}

const integerNames = ({ properties = {} }: ObjectSchema): string[] =>
  Object.keys(properties).filter((name) => properties[name]?.type === 'integer');

function readIntegers(names: readonly string[], data: unknown): void {
  if (data === null || typeof data !== 'object') return;
  const query = data as Record<string, unknown>;
  for (const name of names) {
    const text = query[name];
    if (typeof text === 'string' && /^-?\d{1,15}$/.test(text)) query[name] = Number(text);
  }
}

function toDetail(error: ErrorObject, schema: ObjectSchema): ErrorDetail {
  if (error.keyword === 'required') return { field: String(error.params.missingProperty), message: 'is required' };
  const field = error.instancePath.split('/')[1] ?? null;
  const rule = field === null ? undefined : schema.properties?.[field]?.['x-rule'];
  return { field, message: words(error, typeof rule === 'string' ? rule : undefined) };
}

function words({ keyword, params, message }: ErrorObject, rule: string | undefined): string {
  switch (keyword) {
    case 'type':
      return `must be ${[params.type]
        .flat()
        .filter((type) => type !== 'null')
        .map(withArticle)
        .join(' or ')}`;
    case 'minimum':
      return `must be at least ${params.limit}`;
    case 'maximum':
      return `must be at most ${params.limit}`;
    case 'exclusiveMinimum':
      return `must be greater than ${params.limit}`;
    case 'minLength':
      return params.limit === 1 ? 'must not be empty' : `must have at least ${params.limit} characters`;
    case 'maxLength':
      return `must have at most ${params.limit} characters`;
    case 'pattern':
      return rule ?? 'has a form that is not allowed';
    case 'enum':
      return `must be one of ${params.allowedValues.join(', ')}`;
    case 'x-decimals':
      return 'must have at most two decimals';
    case 'x-not-blank':
      return 'must not be blank';
    case 'x-no-controls':
      return 'must not contain control characters';
    default:
      return message ?? 'is not valid';
  }
}

const withArticle = (type: string): string =>
  type === 'integer' ? 'a whole number' : /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
