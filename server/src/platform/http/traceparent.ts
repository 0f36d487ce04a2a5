/** The header by which a caller names its own trace: https://www.w3.org/TR/trace-context/#traceparent-header. */
export interface TraceParent {
  readonly traceId: string;
  /** The caller's span, of which the request is a part. */
  readonly spanId: string;
}

/** Later versions may append fields; version 00 has none, and version ff is forbidden. */
const form = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;
/** Longer values than any version needs are ignored. */
const maxLength = 512;

/** Returns nothing for a header that is absent or malformed: the standard wants that to be ignored. */
export function readTraceParent(header: string | readonly string[] | undefined): TraceParent | undefined {
  if (typeof header !== 'string' || header.length > maxLength) return undefined;
  const [, version, traceId, spanId, more] = form.exec(header) ?? [];
  if (traceId === undefined || spanId === undefined || (version === '00' && more !== undefined)) return undefined;
  return { traceId, spanId };
}
