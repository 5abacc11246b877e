/** Settings of a managed pool. */
import { MemoryBudget } from './memory-budget.js';
import type { Naming } from './pool.js';

export interface ManagedPoolOptions extends Naming {
  /** Default: unlimited. */
  budget?: MemoryBudget;
  /** Maximum number of loaded models; default: as many as fit. */
  maxModels?: number;
  /** Requests load the model that they name; default true. */
  autoload?: boolean;
  /** Maximal wait of a request for a load; default ten minutes. */
  loadTimeoutMs?: number;
  /** Idle models are unloaded after this time, unless a request sets another; default 0: never. */
  ttlMs?: number;
  /** Pinned models; default none. */
  pins?: readonly string[];
  /** With `anyName`: the model that unknown names mean. */
  selected?(): string | null;
  onFailure?(id: string, error: unknown): void;
}

export const POOL_DEFAULTS = {
  budget: MemoryBudget.of(Infinity),
  maxModels: Infinity,
  autoload: true,
  loadTimeoutMs: 600_000,
  ttlMs: 0,
};
