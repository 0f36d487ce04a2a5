/** A table of error codes: each with its status and its message. */
export type ErrorTable = Readonly<Record<string, readonly [status: number, message: string]>>;

/** The errors that HTTP itself brings along, whatever the routes are about. */
export const httpErrors = {
  not_found: [404, 'There is nothing here. Check the path and the id.'],
  method_not_allowed: [405, 'This path does not take that method. The header Allow lists those it takes.'],
  request_timeout: [408, 'The request took too long to arrive. Send it again.'],
  body_too_large: [413, 'The body is larger than 64 KiB.'],
  unsupported_media_type: [415, 'Send the body as JSON with the header "Content-Type: application/json".'],
  misdirected_request: [421, 'This server runs in development and answers only to its own loopback address.'],
  validation_failed: [422, 'The request breaks a rule. See details.'],
  upgrade_required: [426, 'Open this address as a WebSocket.'],
  rate_limited: [429, 'Too many requests. Wait for the seconds in the header Retry-After.'],
  headers_too_large: [431, 'The request’s headers are too large.'],
  internal_error: [500, 'Something went wrong on our side. If it happens again, report it with the request_id.'],
  upstream_failed: [
    502,
    'The storage cannot be reached or written right now. Try again; with an Idempotency-Key that is always safe.',
  ],
  shutting_down: [503, 'This server is going away. Try again.'],
} as const satisfies ErrorTable;

export type HttpErrorCode = keyof typeof httpErrors;

export interface ErrorDetail {
  /** The body field or query parameter; `null` for the body as a whole. */
  readonly field: string | null;
  readonly message: string;
}

export interface ErrorOptions {
  /** Replaces the message of the table. */
  readonly message?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly details?: readonly ErrorDetail[];
}

/** Thrown anywhere below the error handler to answer with a row of an error table. */
export class HttpError<Code extends string = string> extends Error {
  readonly code: Code;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly details: readonly ErrorDetail[] | undefined;

  constructor(code: Code, [status, message]: ErrorTable[string], options: ErrorOptions = {}) {
    super(options.message ?? message);
    this.code = code;
    this.status = status;
    this.headers = options.headers ?? {};
    this.details = options.details;
  }
}

export const httpError = (code: HttpErrorCode, options?: ErrorOptions): HttpError =>
  new HttpError(code, httpErrors[code], options);

export const validationFailed = (...details: ErrorDetail[]): HttpError => httpError('validation_failed', { details });
