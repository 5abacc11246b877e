/** State shared by all requests of a gateway. */
import type { BodyBudget } from '../../http/body/read-body.js';
import type { KeyRing } from './access.js';
import type { AppDirectory } from './directory.js';
import type { Admission } from './key-limits.js';
import type { UsageSink } from './usage.js';

export interface GatewayParts {
  directory: AppDirectory;
  keys: KeyRing;
  usage: UsageSink;
  budgets?: BudgetKeeper;
}

export interface BudgetKeeper {
  /** Called with each request. Throws a `ChasquiError` to refuse it. */
  admit(org: string, keyId: string | null): Admission;
}

export interface CommentOptions {
  firstMs: number;
  repeatMs: number;
}

export interface GatewayOptions {
  /** Maximum body size in bytes; a key may lower it. */
  bodyLimit: number;
  bodySilenceMs: number;
  /** Disconnects clients that do not read for this long; 0: never. */
  stallMs: number;
  comments: CommentOptions;
  keyCheckMs: number;
  /** Receives internal errors; `requestId` is null for errors outside a request. */
  onError(error: unknown, requestId: string | null): void;
}

export const GATEWAY_DEFAULTS: GatewayOptions = {
  bodyLimit: 64 * 2 ** 20,
  bodySilenceMs: 20_000,
  stallMs: 600_000,
  comments: { firstMs: 2000, repeatMs: 10_000 },
  keyCheckMs: 250,
  onError: () => undefined,
};

export interface GatewayContext extends GatewayParts {
  options: GatewayOptions;
  /** Limits the memory of all request bodies. */
  bodies: BodyBudget;
}
