/** What a pool of models loads. */
import type { AdapterFile } from '../engine/adapter-file.js';
import type { Engine } from '../engine/engine.js';
import type { LoadHooks } from '../engine/load-options.js';

/** A model that can be loaded, and unloaded by closing its engine. */
export interface ManagedSource {
  id: string;
  /** Other names of the same file. */
  aliases: readonly string[];
  sizeBytes: number | null;
  /** What it will take, as far as that can be told before. */
  estimatedBytes: number;
  /** How long it stays loaded when nobody uses it; default: as all of its pool; 0 is for ever. */
  ttlMs?: number;
  /** Whether it is pinned from the beginning; default false. */
  pin?: boolean;
  /** How many requests may wait for it to be loaded; default: as many as an engine takes that is told nothing else. */
  maxWaiting?: number;
  /** What it is loaded with; each is a model of its own for requests. Default none. */
  adapters?: readonly AdapterFile[];
  open(hooks: OpenHooks): Promise<OpenedModel>;
}

export interface OpenHooks extends LoadHooks {
  /** Told when the engine's `state` has changed by itself. */
  onState?: () => void;
}

export interface OpenedModel {
  engine: Engine;
  /** How many bytes it takes now; `null` where that cannot be told. */
  measure(): number | null;
}
