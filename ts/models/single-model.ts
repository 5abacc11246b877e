/** A pool of one model, which is loaded once and stays. */
import type { AdapterFile } from '../engine/adapter-file.js';
import type { AbortOptions, Engine } from '../engine/engine.js';
import type { LoadHooks } from '../engine/load-options.js';
import { ChasquiError } from '../errors.js';
import { AdaptedEngine, adaptedId, withAdapters } from './adapters.js';
import { ModelEvents } from './model-events.js';
import {
  type Lease,
  type ModelEntry,
  type ModelListener,
  type ModelPool,
  modelFailed,
  modelLoading,
  modelNotFound,
  reasonOf,
} from './pool.js';

/** A model that can be loaded. */
export interface ModelSource {
  id: string;
  /** Other names that it goes by; default none. */
  aliases?: readonly string[];
  sizeBytes: number | null;
  /** When its files were modified, in Unix milliseconds; default: now. */
  modifiedMs?: number | null;
  /** LoRA adapters; requests name each of them like a model. Default none. */
  adapters?: readonly AdapterFile[];
  open(hooks: LoadHooks): Promise<Engine>;
}

export interface Naming {
  /** Whether a request gets the model whatever name it gives; default false. */
  anyName?: boolean;
}

export class SingleModel implements ModelPool {
  readonly #source: ModelSource;
  readonly #anyName: boolean;
  readonly #created: number;
  readonly #closing = new AbortController();
  readonly #events = new ModelEvents();
  #opening: Promise<Engine> | null = null;
  #engine: Engine | null = null;
  #progress = 0;
  #reason: string | null = null;

  constructor(source: ModelSource, { anyName = false }: Naming = {}) {
    this.#source = source;
    this.#created = Math.floor((source.modifiedMs ?? Date.now()) / 1000);
    this.#anyName = anyName;
  }

  /** The pool of a model that is loaded already. */
  static of(engine: Engine, naming: Naming = {}): SingleModel {
    const { id, sizeBytes } = engine.model;
    const pool = new SingleModel({ id, sizeBytes, open: async () => engine }, naming);
    pool.#engine = engine;
    pool.#opening = Promise.resolve(engine);
    return pool;
  }

  /**
   * Loads the model, unless that was begun before. Rejects with why it cannot be loaded, and with `engine_closed` when
   * the pool is closed meanwhile.
   */
  start({ onProgress }: Pick<LoadHooks, 'onProgress'> = {}): Promise<Engine> {
    this.#opening ??= this.#open(onProgress);
    return this.#opening;
  }

  get isReady(): boolean {
    return this.#engine !== null;
  }

  list(): readonly ModelEntry[] {
    const { id, aliases = [], adapters = [] } = this.#source;
    return withAdapters(this.#entry(), adapters, (name) => ![id, ...aliases].includes(name));
  }

  async acquire(name: string | undefined, { signal }: AbortOptions): Promise<Lease> {
    signal?.throwIfAborted();
    const entry = this.#entry();
    const isModel = name === entry.id || entry.aliases.includes(name ?? '');
    const adapter = this.#source.adapters?.find(
      (each) => (name === each.name && !isModel) || name === adaptedId(entry.id, each.name),
    );
    const isKnown = name === undefined || isModel || adapter !== undefined;
    if (!this.#anyName && !isKnown) throw modelNotFound(name, this.list(), 'model');
    if (entry.engine !== null) {
      const engine = adapter === undefined ? entry.engine : new AdaptedEngine(entry.engine, adapter.name);
      return { engine, release: () => {} };
    }
    throw entry.status === 'failed' ? modelFailed(entry) : modelLoading(entry);
  }

  onEvent(listener: ModelListener): () => void {
    return this.#events.watch(listener);
  }

  load(id: string): void {
    const { id: own, aliases = [] } = this.#source;
    if (id !== own && !aliases.includes(id)) throw modelNotFound(id, this.list(), 'model');
  }

  unload(id: string): void {
    this.load(id);
    throw new ChasquiError('unsupported_parameter', `The model \`${id}\` stays as long as its server.`, 'model');
  }

  /** Ends the load, or closes the engine; rejects as that does. */
  async close(): Promise<void> {
    this.#closing.abort(new ChasquiError('engine_closed', 'The server is shutting down.'));
    const engine = await this.#opening?.catch(() => null);
    await engine?.close();
  }

  async #open(onProgress: LoadHooks['onProgress']): Promise<Engine> {
    const { signal } = this.#closing;
    try {
      signal.throwIfAborted();
      this.#engine = await this.#source.open({
        signal,
        onProgress: (fraction) => {
          this.#progress = fraction;
          this.#tell();
          onProgress?.(fraction);
        },
      });
      return this.#engine;
    } catch (error) {
      this.#reason = reasonOf(error);
      throw error;
    } finally {
      this.#tell();
    }
  }

  #tell(): void {
    for (const entry of this.list()) this.#events.tell(entry);
  }

  #entry(): ModelEntry {
    const { id, aliases = [], sizeBytes } = this.#source;
    const engine = this.#engine;
    const reason = this.#reason;
    const status = engine !== null ? 'loaded' : reason !== null ? 'failed' : 'loading';
    return {
      id,
      aliases,
      parent: null,
      status,
      created: engine?.model.created ?? this.#created,
      progress: status === 'loading' ? this.#progress : null,
      sizeBytes,
      reason,
      memoryBytes: null,
      pid: null,
      preparationPid: null,
      running: 0,
      waiting: 0,
      expiresAt: null,
      pinned: false,
      engine,
    };
  }
}
