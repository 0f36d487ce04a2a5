export type ErrorDetail = { field: string | null; message: string };

/**
 * A failed call. `code` is one of the API's documented error codes, one of `OAuthError`, or one of the SDK's own:
 *
 * - `unknown_error`: the response does not come from the API.
 * - `connection_failed` and `timed_out`, with `status` 0: there was no response. `cause` is the error of `fetch`.
 * - `reauthorization_required`: the creator has to connect again (`ReauthorizationRequired`).
 */
export class NamjaiError extends Error {
  override readonly name: string = 'NamjaiError';
  readonly status: number;
  readonly code: string;
  /** Identifies the request in the server's log; give it to support. */
  readonly requestId: string | null;
  /** The invalid fields, on `validation_failed`. */
  readonly details: ErrorDetail[];

  constructor(
    status: number,
    code: string,
    message: string,
    requestId: string | null,
    { details = [], ...options }: { details?: ErrorDetail[] | undefined; cause?: unknown } = {},
  ) {
    super(message, options);
    this.status = status;
    this.code = code;
    this.requestId = requestId;
    this.details = details;
  }

  /** The response may come from a proxy, without the API's error envelope. */
  static async from(response: Response): Promise<NamjaiError> {
    const body: { error?: { code?: string; message?: string; request_id?: string; details?: ErrorDetail[] } } | null =
      await response.json().catch(() => null);
    const error = body?.error ?? {};
    const requestId = error.request_id ?? response.headers.get('x-request-id');
    const message = error.message ?? `The server answered ${response.status}`;
    const { details } = error;
    return new NamjaiError(response.status, error.code ?? 'unknown_error', message, requestId, { details });
  }

  /** A success status from something other than the API, such as a proxy's page. */
  static notJson(response: Response, cause: unknown): NamjaiError {
    const message = `The server answered ${response.status}, but not with JSON. Is ${response.url} the API’s address?`;
    return new NamjaiError(response.status, 'unknown_error', message, response.headers.get('x-request-id'), { cause });
  }

  /** There was no response. `next` says what the caller can do. */
  static unanswered(origin: string, tries: number, next: string, cause: unknown): NamjaiError {
    const timedOut = cause instanceof Error && cause.name === 'TimeoutError';
    const how = `No answer from ${origin} ${timedOut ? 'in time' : `(${reasonOf(cause)})`}`;
    const message = `${how}, tried ${tries === 1 ? 'once' : `${tries} times`}. ${next}`;
    return new NamjaiError(0, timedOut ? 'timed_out' : 'connection_failed', message, null, { cause });
  }
}

/**
 * The creator has disconnected your app, or the refresh token is no longer valid: no retry helps. Ask the creator to
 * connect again.
 */
export class ReauthorizationRequired extends NamjaiError {
  override readonly name = 'ReauthorizationRequired';

  constructor(message: string, options: { cause?: unknown } = {}) {
    super(403, 'reauthorization_required', message, null, options);
  }
}

/** The message of `fetch` is always `fetch failed`; its cause says why. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (cause instanceof Error) return 'code' in cause ? String(cause.code) : cause.message;
  return error.message;
}
