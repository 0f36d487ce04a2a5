import type { TSchema } from 'typebox';
import { type ErrorOptions, type ErrorTable, HttpError, httpErrors } from './platform/http/http-error.ts';
import { describeErrors } from './platform/http/schema.ts';

export { type ErrorDetail, validationFailed } from './platform/http/http-error.ts';

const ownErrors = {
  token_missing: [401, 'Send an access token in the header "Authorization: Bearer <ACCESS_TOKEN>".'],
  token_invalid: [401, 'The access token is not valid. Get a new one from POST /v1/oauth/token.'],
  token_expired: [401, 'The access token has expired. Refresh it at POST /v1/oauth/token.'],
  client_invalid: [401, 'Send the app’s client_id and client_secret with HTTP Basic authentication.'],
  grant_unusable: [
    403,
    'The creator’s permission for this app has ended or is paused. Ask the creator to connect the app again.',
  ],
  insufficient_scope: [403, 'This endpoint requires scope: <scope>'],
  idempotency_key_reused: [422, 'This Idempotency-Key was used for a different request. Use a new key for a new tip.'],
} as const satisfies ErrorTable;

/** Every error of /v1, ordered by status. The API document and the guide are made from this table. */
export const errorTable: typeof ownErrors & typeof httpErrors = byStatus({ ...httpErrors, ...ownErrors });

export type ErrorCode = keyof typeof errorTable;

/** The error handler answers with this row of the table. */
export class ApiError extends HttpError<ErrorCode> {
  constructor(code: ErrorCode, options?: ErrorOptions) {
    super(code, errorTable[code], options);
  }
}

/** Response schemas of a route for these rows of the table. */
export const errorResponses = (...codes: ErrorCode[]): Record<number, TSchema> => describeErrors(errorTable, codes);

function byStatus<Table extends ErrorTable>(table: Table): Table {
  return Object.fromEntries(Object.entries(table).sort(([, [a]], [, [b]]) => a - b)) as Table;
}
