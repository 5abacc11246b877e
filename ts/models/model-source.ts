import type { AdapterFile } from '../engine/adapter-file.js';
import type { Engine } from '../engine/engine.js';
import type { LoadHooks } from '../engine/load-options.js';

/** A model that can be loaded, and unloaded by closing its engine. */
export interface ManagedSource {
  id: string;
  /** Other names. */
  aliases: readonly string[];
  /** Shown in the list of models; default none. */
  tags?: readonly string[];
  sizeBytes: number | null;
  /** When its files were modified, in Unix milliseconds; `null`: they cannot be found. Default: it has none. */
  modifiedMs?(): number | null;
  /** Estimate of the memory that it will take. */
  estimatedBytes: number;
  /** Idle time before it is unloaded; 0: never. Default: that of the pool. */
  ttlMs?: number;
  /** Default false. */
  pin?: boolean;
  /** Requests that may wait for its load; default: as many as an engine runs and queues by default. */
  maxWaiting?: number;
  /** Adapters; each is a model of its own for requests. Default none. */
  adapters?: readonly AdapterFile[];
  /** The loaded engine of a model that stays as long as the pool; default none. */
  opened?: OpenedModel;
  open(hooks: OpenHooks): Promise<OpenedModel>;
}

export interface OpenHooks extends LoadHooks {
  /** The `state` of the engine has changed, other than to `closed`. */
  onState?: () => void;
}

export interface OpenedModel {
  engine: Engine;
  /** Bytes that it takes now; `null`: unknown. */
  measure(): number | null;
}
