export type ErrorDetail = { field: string | null; message: string };

/**
 * A call that was no success. `code` is one of the documented error codes; where none of them came back, one of the
 * SDK's own: `unknown_error` for an answer that is not the API's, and with `status` 0 `connection_failed` and
 * `timed_out`, whose `cause` is what the platform's `fetch` said.
 */
export class NamjaiError extends Error {
  override readonly name = 'NamjaiError';
  readonly status: number;
  readonly code: string;
  /** Tell it to support: the server's log knows this request by it. */
  readonly requestId: string | null;
  /** What is wrong with which field, on `validation_failed`. */
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

  /** A proxy on the way may answer with something else than our envelope. */
  static async from(response: Response): Promise<NamjaiError> {
    const body: { error?: { code?: string; message?: string; request_id?: string; details?: ErrorDetail[] } } | null =
      await response.json().catch(() => null);
    const error = body?.error ?? {};
    const requestId = error.request_id ?? response.headers.get('x-request-id');
    const message = error.message ?? `The server answered ${response.status}`;
    const { details } = error;
    return new NamjaiError(response.status, error.code ?? 'unknown_error', message, requestId, { details });
  }

  /** A success of something that is not the API, such as a proxy's page. */
  static notJson(response: Response, cause: unknown): NamjaiError {
    const message = `The server answered ${response.status}, but not with JSON. Is ${response.url} the API’s address?`;
    return new NamjaiError(response.status, 'unknown_error', message, response.headers.get('x-request-id'), { cause });
  }

  /** There was no answer. `next`: what the caller can do about it. */
  static unanswered(origin: string, tries: number, next: string, cause: unknown): NamjaiError {
    const timedOut = cause instanceof Error && cause.name === 'TimeoutError';
    const how = `No answer from ${origin} ${timedOut ? 'in time' : `(${reasonOf(cause)})`}`;
    const message = `${how}, tried ${tries === 1 ? 'once' : `${tries} times`}. ${next}`;
    return new NamjaiError(0, timedOut ? 'timed_out' : 'connection_failed', message, null, { cause });
  }
}

/** `fetch failed` says nothing; what lies below it does. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (cause instanceof Error) return 'code' in cause ? String(cause.code) : cause.message;
  return error.message;
}
