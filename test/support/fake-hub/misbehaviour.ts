/** Faults that a fake hub can simulate. */

export interface Misbehaviour {
  /** The hub takes connections and says nothing. */
  silent?: boolean;
  /** Number of download addresses that are served. Later requests get no reply. */
  addresses?: number;
  /** So many requests to the hub fail with status 503. */
  failing?: number;
  /** So many requests to the hub are refused with status 429, which says to wait so long. */
  limited?: { times: number; seconds: number };
  /** So many requests to the address of the bytes are refused, as if it had expired. */
  expired?: number;
  addressLifeMs?: number;
  /** Target of the redirect for files. */
  redirectTo?: string;
  /** The whole file is sent, whatever part of it is asked for. */
  ignoresRanges?: boolean;
  /** Another part than the one asked for is sent. */
  shiftsRanges?: boolean;
  /** Bytes are sent on and on after the end. */
  sendsMore?: boolean;
  /** Bytes per second of each connection. */
  bytesPerSecond?: number;
  /** Only so many bytes of each file are sent before a connection falls silent, for so many connections. */
  stalls?: { afterBytes: number; times: number };
  /** The connection breaks off after so many bytes, so many times. */
  breaks?: { afterBytes: number; times: number };
  /**
   * Holds back the bytes of a file from this offset on. `path` is a suffix of the file name; an empty one matches all
   * files.
   */
  holds?: { path: string; fromByte: number };
  /** One byte of each file is another one. */
  spoils?: boolean;
  /** In place of what it has. */
  list?: unknown;
  model?: unknown;
  tree?: readonly unknown[];
  /** Files in one page of a tree. */
  treePage?: number;
}

/** How the hub says which kind of error it is. */
export function errorHeaders(code: string): Record<string, string> {
  return { 'x-error-code': code, 'content-type': 'application/json' };
}
