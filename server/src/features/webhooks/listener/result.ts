/** What a listener answers to a delivery. */
export interface Result {
  readonly id: string;
  /** `null` if the receiver gave no answer; then `error` says why. */
  readonly status_code: number | null;
  readonly duration_ms: number;
  readonly error: string | null;
  readonly response_body: string | null;
}

/** As of an HTTP receiver's answer. */
const maxBodyBytes = 1024;
const maxErrorLength = 300;
const maxDurationMs = 60_000;

/** `undefined` if the frame is not a result. Texts are cut to what the log keeps. */
export function readResult(text: string): Result | undefined {
  const frame = parse(text);
  if (frame?.type !== 'result' || typeof frame.id !== 'string') return undefined;
  const { id, status_code = null, duration_ms = 0, error = null, response_body = null } = frame;
  if (!isStatus(status_code) || !isText(error) || !isText(response_body)) return undefined;
  if (typeof duration_ms !== 'number' || !(duration_ms >= 0)) return undefined;
  if (status_code === null && !error) return undefined;
  return {
    id,
    status_code,
    duration_ms: Math.min(duration_ms, maxDurationMs),
    error: error === null ? null : error.slice(0, maxErrorLength),
    response_body: response_body && Buffer.from(response_body).subarray(0, maxBodyBytes).toString(),
  };
}

const isText = (value: unknown): value is string | null => value === null || typeof value === 'string';

const isStatus = (value: unknown): value is number | null =>
  value === null || (Number.isInteger(value) && Number(value) >= 100 && Number(value) <= 599);

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const frame: unknown = JSON.parse(text);
    return frame !== null && typeof frame === 'object' && !Array.isArray(frame) ? { ...frame } : undefined;
  } catch {
    return undefined;
  }
}
