/** What all requests of a gateway share. */
import type { BodyBudget } from '../../http/body/budget.js';
import type { KeyRing } from './access.js';
import type { AppDirectory } from './directory.js';
import type { UsageSink } from './usage.js';
import type { CommentOptions } from './waiting-comments.js';

export interface GatewayParts {
  directory: AppDirectory;
  keys: KeyRing;
  usage: UsageSink;
}

export interface GatewayOptions {
  /** The largest body in bytes; a key may allow less. */
  bodyLimit: number;
  /** Milliseconds that a client may send nothing in the middle of its body. */
  bodySilenceMs: number;
  /** Milliseconds that a client may leave its reply unread before it is cut off; 0 is for ever. */
  stallMs: number;
  comments: CommentOptions;
  /** How often the keys of running requests are checked again. */
  keyCheckMs: number;
  /** Told of every error of the gateway itself; `requestId` is null where it concerns no single request. */
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
  /** Limits what all bodies take together. */
  bodies: BodyBudget;
}
