/** Every error of /v1: its code, its status and its words. The API document and the guide are made from this table. */
export const errorTable = {
  token_missing: [401, 'Send an access token in the header "Authorization: Bearer <ACCESS_TOKEN>".'],
  token_invalid: [401, 'The access token is not valid. Get a new one from POST /v1/oauth/token.'],
  token_expired: [401, 'The access token has expired. Refresh it at POST /v1/oauth/token.'],
  client_invalid: [401, 'Send the app’s client_id and client_secret with HTTP Basic authentication.'],
  grant_unusable: [
    403,
    'The creator’s permission for this app has ended or is paused. Ask the creator to connect the app again.',
  ],
  insufficient_scope: [403, 'This endpoint requires scope: <scope>'],
  not_found: [404, 'There is nothing here. Check the path and the id.'],
  method_not_allowed: [405, 'This path does not take that method. The header Allow lists those it takes.'],
  request_timeout: [408, 'The request took too long to arrive. Send it again.'],
  body_too_large: [413, 'The body is larger than 64 KiB.'],
  unsupported_media_type: [415, 'Send the body as JSON with the header "Content-Type: application/json".'],
  misdirected_request: [421, 'This server runs in development and answers only to its own loopback address.'],
  validation_failed: [422, 'The request breaks a rule. See details.'],
  idempotency_key_reused: [422, 'This Idempotency-Key was used for a different request. Use a new key for a new tip.'],
  upgrade_required: [426, 'Open this address as a WebSocket.'],
  rate_limited: [429, 'Too many requests. Wait for the seconds in the header Retry-After.'],
  headers_too_large: [431, 'The request’s headers are too large.'],
  internal_error: [500, 'Something went wrong on our side. If it happens again, report it with the request_id.'],
  upstream_failed: [
    502,
    'The storage cannot be reached or written right now. Try again; with an Idempotency-Key that is always safe.',
  ],
  shutting_down: [503, 'This server is going away. Try again.'],
} as const satisfies Record<string, readonly [status: number, message: string]>;

export type ErrorCode = keyof typeof errorTable;

export interface ErrorDetail {
  /** The body field or query parameter; `null` for the body as a whole. */
  readonly field: string | null;
  readonly message: string;
}

/** Thrown anywhere below the error handler to answer with a row of the table. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly details: readonly ErrorDetail[] | undefined;

  constructor(
    code: ErrorCode,
    options: { message?: string; headers?: Record<string, string>; details?: readonly ErrorDetail[] } = {},
  ) {
    const [status, words] = errorTable[code];
    super(options.message ?? words);
    this.code = code;
    this.status = status;
    this.headers = options.headers ?? {};
    this.details = options.details;
  }
}

export function validationFailed(...details: ErrorDetail[]): ApiError {
  return new ApiError('validation_failed', { details });
}
