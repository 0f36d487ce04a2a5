export type ErrorDetail = { field: string | null; message: string };

/** An answer of the API that is no success. `code` is one of the documented error codes. */
export class NamjaiError extends Error {
  override readonly name = 'NamjaiError';
  readonly status: number;
  readonly code: string;
  /** Tell it to support: the server's log knows this request by it. */
  readonly requestId: string | null;
  /** What is wrong with which field, on `validation_failed`. */
  readonly details: ErrorDetail[];

  constructor(status: number, code: string, message: string, requestId: string | null, details: ErrorDetail[] = []) {
    super(message);
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
    return new NamjaiError(response.status, error.code ?? 'unknown_error', message, requestId, error.details);
  }
}
