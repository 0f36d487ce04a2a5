import type { FastifyInstance, FastifyRequest } from 'fastify';
import { parseFields, parseParts } from '../http/form-fields.ts';
import { httpError, validationFailed } from '../http/http-error.ts';

/**
 * Bodies of pages are forms, not the JSON of /v1. Of several values of one name the first counts.
 * A route that takes files sets its own `bodyLimit`.
 */
type Fields = URLSearchParams | FormData;

export function useFormBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    const type = request.headers['content-type'] ?? '';
    const fields = body.length === 0 ? new URLSearchParams() : await parse(type, body);
    // PostgreSQL cannot store NUL.
    for (const [field, value] of fields)
      if (field.includes('\0') || (typeof value === 'string' && value.includes('\0')))
        throw validationFailed({ field, message: 'must not contain the character NUL' });
    return fields;
  });
}

async function parse(type: string, body: Buffer): Promise<Fields> {
  if (/^application\/x-www-form-urlencoded\s*(;|$)/i.test(type)) return parseFields(body.toString('utf8'));
  if (/^multipart\/form-data\s*;/i.test(type)) return parseParts(body, type);
  throw httpError('unsupported_media_type');
}

const fieldsOf = ({ body }: FastifyRequest): Fields =>
  body instanceof URLSearchParams || body instanceof FormData ? body : new URLSearchParams();

/** The text of this field; empty if the field is missing. */
export function formText(request: FastifyRequest, name: string): string {
  const value = fieldsOf(request).get(name);
  return typeof value === 'string' ? value : '';
}

/** All fields as one text. Other fields give another text. */
export const allFields = (request: FastifyRequest): string => JSON.stringify([...fieldsOf(request)]);

export type FormTexts<Name extends string> = { [N in Name]: string };

export const formTexts = <Name extends string>(request: FastifyRequest, names: readonly Name[]): FormTexts<Name> =>
  Object.fromEntries(names.map((name) => [name, formText(request, name)])) as FormTexts<Name>;

/** The uploaded file, if one was chosen. */
export function formFile(request: FastifyRequest, name: string): File | undefined {
  const value = fieldsOf(request).get(name);
  return value instanceof File && value.size > 0 ? value : undefined;
}
