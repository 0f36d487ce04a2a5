import type { Static, TSchema } from 'typebox';
import { type ErrorCode, errorTable } from '../../errors.ts';
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

export const ErrorEnvelope = Type.Object(
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

/** Response entries for these rows of the error table, grouped by status, with every code's words as an example. */
export function errorResponses(...codes: ErrorCode[]): Record<number, TSchema> {
  const byStatus = Map.groupBy(codes, (code) => errorTable[code][0]);
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => [
      status,
      Type.Unsafe<Static<typeof ErrorEnvelope>>({
        ...ErrorEnvelope,
        'x-codes': group,
        description: group.map((code) => `\`${code}\``).join(', '),
      }),
    ]),
  );
}
