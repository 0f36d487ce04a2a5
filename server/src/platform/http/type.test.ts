import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type as TypeBox } from 'typebox';
import { Type } from './type.ts';

type Builders = Pick<typeof TypeBox, keyof typeof Type>;

/** Each builder, with and without options, alone and in objects with all, some and no required fields. */
const schemas: Record<string, (type: Builders) => object> = {
  string: (t) => t.String({ minLength: 1, 'x-not-blank': true, description: 'A name' }),
  bare: (t) => t.String(),
  integer: (t) => t.Integer({ minimum: 1, maximum: 100, default: 20 }),
  number: (t) => t.Number({ 'x-decimals': 2 }),
  boolean: (t) => t.Boolean(),
  null: (t) => t.Null({ description: 'It is gone' }),
  'literal text': (t) => t.Literal('THB'),
  'literal number': (t) => t.Literal(600, { description: 'Seconds' }),
  unsafe: (t) => t.Unsafe<'a' | 'b'>({ type: 'string', enum: ['a', 'b'] }),
  union: (t) => t.Union([t.String(), t.Object({ a: t.Integer() })], { description: 'Either' }),
  array: (t) => t.Array(t.String(), { maxItems: 3 }),
  'no field': (t) => t.Object({}),
  'all required': (t) => t.Object({ a: t.String(), b: t.Integer() }, { title: 'All' }),
  'some required': (t) =>
    t.Object({ a: t.String(), b: t.Optional(t.String({ maxLength: 5 })) }, { additionalProperties: false }),
  'none required': (t) =>
    t.Object({ a: t.Optional(t.String()), b: t.Optional(t.Literal('Bearer', { description: 'x' })) }),
  nested: (t) =>
    t.Object({
      list: t.Array(t.Object({ a: t.Optional(t.String()) })),
      copy: t.Unsafe<string>({ ...t.Optional(t.String()) }),
    }),
};

for (const [name, build] of Object.entries(schemas))
  test(`a schema is the same text as TypeBox writes: ${name}`, () => {
    assert.equal(JSON.stringify(build(Type)), JSON.stringify(build(TypeBox)));
  });
