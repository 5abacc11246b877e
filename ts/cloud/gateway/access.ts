/** Who may call what. The gateway asks; where keys are kept is not its concern. */

/** What a key may be used for: calling apps, deploying them, reading about them, managing the organisation. */
export type Scope = 'call' | 'deploy' | 'read' | 'admin';

/** Limits of a key; null is none. Several gateways do not share what they have counted. */
export interface KeyLimits {
  readonly requestsPerMinute: number | null;
  /** Prompt and completion tokens together. They are counted when a request is over. */
  readonly tokensPerMinute: number | null;
  /** How many requests may be under way or waiting at once. */
  readonly concurrency: number | null;
  readonly bodyBytes: number | null;
}

/** A key that is valid now. */
export interface CloudKey {
  readonly id: string;
  /** The only organisation that it opens; null is all. */
  readonly org: string | null;
  /** The only app of the organisation that it opens; null is all. */
  readonly app: string | null;
  readonly scopes: readonly Scope[];
  readonly limits: KeyLimits;
}

export interface KeyRing {
  /**
   * Looks up the whole text after `Key `. Returns null for a key that is unknown, expired or revoked, at once also when
   * another process revoked it.
   */
  check(key: string): CloudKey | null;
}
