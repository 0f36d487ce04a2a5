/**
 * The builders of TypeBox that are used here: its types, with plain JSON Schema built by hand. A test compares both.
 * The library itself has 373 modules, more than a quarter of all that the server loaded at start.
 */
import type { Type as TypeBox } from 'typebox';

type Schema = Readonly<Record<string, unknown>>;

/** Not enumerable, so that it is no part of the schema. A copy of the schema loses it, as with TypeBox's own mark. */
const optional = Symbol('optional');

const of =
  (type: string) =>
  (options?: Schema): Schema => ({ type, ...options });

function object(properties: Readonly<Record<string, Schema>>, options?: Schema): Schema {
  const required = Object.entries(properties).flatMap(([name, schema]) => (optional in schema ? [] : [name]));
  return { type: 'object', ...(required.length > 0 ? { required } : {}), properties, ...options };
}

const builders = {
  Array: (items: Schema, options?: Schema): Schema => ({ type: 'array', items, ...options }),
  Boolean: of('boolean'),
  Integer: of('integer'),
  Literal: (value: string | number, options?: Schema): Schema => ({ type: typeof value, const: value, ...options }),
  Null: of('null'),
  Number: of('number'),
  Object: object,
  Optional: (schema: Schema): Schema => Object.defineProperty({ ...schema }, optional, { value: true }),
  String: of('string'),
  Union: (anyOf: readonly Schema[], options?: Schema): Schema => ({ anyOf, ...options }),
  Unsafe: (schema: Schema): Schema => ({ ...schema }),
};

// The type that a schema stands for exists only at compile time, so the builders cannot declare it themselves.
export const Type = builders as unknown as Pick<typeof TypeBox, keyof typeof builders>;
