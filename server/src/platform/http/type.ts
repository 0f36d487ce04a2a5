/**
 * TypeBox's builders, as many as are used here: its types, with schemas made by hand.
 * The library itself is 373 modules, more than a quarter of all that the server loaded to start; what these builders
 * do is to write down plain JSON Schema. That both write the same is tested.
 */
import type { Type as TypeBox } from 'typebox';

type Schema = Readonly<Record<string, unknown>>;

/** Not enumerable, so that no schema shows it; like TypeBox's own mark it is gone from a copy. */
const optional = Symbol('optional');

const of =
  (type: string) =>
  (options?: Schema): Schema => ({ type, ...options });

function object(properties: Readonly<Record<string, Schema>>, options?: Schema): Schema {
  const required = Object.keys(properties).filter((name) => !(optional in properties[name]!));
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

// What a schema stands for exists in types alone, so nothing written by hand could have them.
export const Type = builders as unknown as Pick<typeof TypeBox, keyof typeof builders>;
