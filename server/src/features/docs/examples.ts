import { type ApiDocument, type Content, resolve, type Schema } from './openapi.ts';

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
