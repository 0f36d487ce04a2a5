import type { Static, TSchema } from 'typebox';
import type { ErrorTable } from './http-error.ts';
import { Type } from './type.ts';

/** Pieces that schemas of all features share. A schema with a `title` becomes a named component of the API document. */

/** A field that is always present and may be empty. */
export function nullable<T extends TSchema>(schema: T) {
  const { type } = schema as { type?: string };
  return Type.Unsafe<Static<T> | null>({ ...schema, type: [type, 'null'] });
}

export const Timestamp = Type.String({
  format: 'date-time',
  description: 'RFC 3339, UTC, milliseconds',
  examples: ['2026-11-15T04:00:00.000Z'],
});

/** One of several titled objects, told apart by the constant in one of their fields. */
export const taggedUnion = (
  title: string,
  description: string,
  variants: readonly TSchema[],
  field: 'type' | 'kind' = 'type',
): TSchema =>
  Type.Unsafe({
    type: 'object',
    oneOf: variants,
    discriminator: {
      propertyName: field,
      mapping: Object.fromEntries(variants.map((variant) => referenceByTag(variant, field))),
    },
    title,
    description,
  });

function referenceByTag(variant: TSchema, field: string): [tag: string, reference: string] {
  const { title, properties } = variant as {
    title?: string;
    properties?: Readonly<Record<string, { const?: string } | undefined>>;
  };
  const tag = properties?.[field]?.const;
  if (title === undefined || tag === undefined) throw new Error(`A variant needs a title and a constant \`${field}\``);
  return [tag, `#/components/schemas/${title}`];
}

const ErrorEnvelope = Type.Object(
  {
    error: Type.Object({
      code: Type.String({ description: 'Machine-readable code' }),
      message: Type.String({ description: 'What went wrong and what to do' }),
      request_id: Type.String({
        description: 'The same as the header X-Request-Id; name it when you report a problem',
      }),
      details: Type.Optional(
        Type.Array(
          Type.Object({
            field: nullable(
              Type.String({ description: 'The body field or query parameter; null for the body as a whole' }),
            ),
            message: Type.String(),
          }),
          { description: 'Only on validation_failed: one entry for each broken rule' },
        ),
      ),
    }),
  },
  { title: 'Error' },
);

/** The response schemas for these rows of an error table, by status. The API document shows each code's message. */
export function describeErrors<Table extends ErrorTable>(
  table: Table,
  codes: readonly (keyof Table & string)[],
): Record<number, TSchema> {
  const rows = codes.map((code) => ({ code, status: table[code]?.[0] ?? 500, message: table[code]?.[1] ?? '' }));
  const byStatus = Map.groupBy(rows, ({ status }) => status);
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => [
      status,
      Type.Unsafe<Static<typeof ErrorEnvelope>>({
        ...ErrorEnvelope,
        'x-errors': group.map(({ code, message }) => ({ code, message })),
        description: group.map(({ code }) => `\`${code}\``).join(', '),
      }),
    ]),
  );
}
