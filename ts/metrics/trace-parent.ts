/** The header `traceparent` of W3C Trace Context, which says what trace a request belongs to. */

export interface TraceParent {
  /** 32 hexadecimal digits; the span's id has 16. */
  traceId: string;
  spanId: string;
  flags: number;
}

/** Later versions of the standard may append fields, but not without a limit. */
const MAX_LENGTH = 256;
const FORM = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Returns `null` for an invalid header, which the standard demands to ignore. */
export function readTraceParent(header: string | string[] | undefined): TraceParent | null {
  if (typeof header !== 'string' || header.length > MAX_LENGTH) return null;
  const [, version, traceId, spanId, flags, more] = FORM.exec(header) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  if (version === '00' && more !== undefined) return null;
  return { traceId, spanId, flags: Number.parseInt(flags, 16) };
}

/** The text of the header. */
export function toTraceParent({ traceId, spanId, flags }: TraceParent): string {
  return `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, '0')}`;
}
