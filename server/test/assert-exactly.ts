import assert from 'node:assert/strict';
import { Ajv } from 'ajv';

/** Fails unless the value has every field of the schema and no other, at any depth. */
export function assertExactly(schema: object, value: unknown): void {
  const ajv = new Ajv({ allErrors: true, strict: false, validateFormats: false });
  const closed = JSON.parse(JSON.stringify(schema), (_key, part) =>
    [part?.type].flat().includes('object') ? { ...part, additionalProperties: false } : part,
  );
  const check = ajv.compile(closed);
  assert.ok(check(value), ajv.errorsText(check.errors));
}
