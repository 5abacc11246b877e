/** What requests have used, for whoever sums it up. */

/** One request that is over. */
export interface RequestUsage {
  /** Null for a public app that was called without a key. */
  readonly keyId: string | null;
  readonly org: string;
  readonly app: string;
  /** When the request began, in milliseconds since 1970. */
  readonly at: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Those of the prompt's tokens that the runner had computed before. */
  readonly cachedTokens: number;
  /** The HTTP status that the client got; 499 when it had left before. */
  readonly status: number;
  /** How long it took, waiting included. */
  readonly ms: number;
}

/** The same, for who watches how fast requests are served. */
export interface TimedUsage extends RequestUsage {
  /** How long it waited for a place at a runner; null when it got none. */
  readonly waitedMs: number | null;
  /** When the first byte of the completion came, after `at`; null when none did. */
  readonly firstByteMs: number | null;
}

export interface UsageSink {
  /** Called once for every request that was let in. It must not throw. */
  add(use: TimedUsage): void;
}
