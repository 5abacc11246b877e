/** One model of a pool, through its loads and unloads. */
import type { Engine } from '../engine/engine.js';
import { ChasquiError } from '../errors.js';
import type { ManagedSource, OpenedModel } from './model-source.js';
import type { PlannedModel } from './plan-loads.js';
import { type ModelEntry, reasonOf } from './pool.js';

const GIVEN_UP = new ChasquiError('engine_failed', 'The engine was given up.');
const RESTARTING = new ChasquiError('engine_restarting', 'The engine is started again.');

export class ModelSlot {
  readonly source: ManagedSource;
  /** Whether it takes no new requests, because others wait for its memory. */
  isClosed = false;
  /** Whether it is to be unloaded as soon as nobody uses it. */
  isLeaving = false;
  /** Whether it stays whoever else needs room, and however long nobody uses it. */
  isPinned: boolean;
  /** How long it stays when nobody uses it, as the last request that said so wants it; `null`: none has. */
  keepMs: number | null = null;
  /** Why the last load failed. */
  failure: unknown = null;
  opened: OpenedModel | null = null;
  readonly #created = Math.floor(Date.now() / 1000);
  readonly #onChange: (slot: ModelSlot) => void;
  #state: PlannedModel['state'] = 'unloaded';
  #progress = 0;
  #bytes: number;
  #leases = 0;
  #usedAt = 0;
  #loadedAt = 0;
  #loadMs = 0;
  #failedAt = 0;
  #expiresAt: number | null = null;
  #idleTimer: NodeJS.Timeout | undefined;

  /** `onChange` is told whenever its state changes, or the progress of its load. */
  constructor(source: ManagedSource, onChange: (slot: ModelSlot) => void = () => {}) {
    this.source = source;
    this.isPinned = source.pin ?? false;
    this.#bytes = source.estimatedBytes;
    this.#onChange = onChange;
  }

  get state(): PlannedModel['state'] {
    return this.#state;
  }

  get planned(): PlannedModel {
    return {
      id: this.source.id,
      state: this.state,
      bytes: this.#bytes,
      leases: this.#leases,
      usedAt: this.#usedAt,
      loadedAt: this.#loadedAt,
      loadMs: this.#loadMs,
      isClosed: this.isClosed,
      isPinned: this.isPinned,
    };
  }

  /** Loaded, and used by nobody. */
  get isIdle(): boolean {
    return this.state === 'loaded' && this.#leases === 0;
  }

  /** `waiting`: how many requests wait for it. */
  toEntry(waiting: number): ModelEntry {
    const { id, aliases, sizeBytes } = this.source;
    const engine = this.state === 'loaded' ? (this.opened?.engine ?? null) : null;
    // It stays in its place until it is unloaded, but nothing computes there any more.
    const isGivenUp = engine?.state === 'failed';
    const isRestarting = engine?.state === 'restarting';
    const failure = isGivenUp ? GIVEN_UP : isRestarting ? RESTARTING : this.state === 'failed' ? this.failure : null;
    return {
      id,
      aliases,
      parent: null,
      status: isGivenUp ? 'failed' : isRestarting ? 'loading' : this.state === 'unloading' ? 'unloaded' : this.state,
      created: engine?.model.created ?? this.#created,
      progress: this.state === 'loading' ? this.#progress : null,
      sizeBytes,
      reason: failure === null ? null : reasonOf(failure),
      memoryBytes: engine && !isGivenUp ? this.#bytes : null,
      pid: engine?.processes?.engine ?? null,
      preparationPid: engine?.processes?.preparation ?? null,
      running: this.#leases,
      waiting,
      expiresAt: engine && this.#expiresAt,
      pinned: this.isPinned,
      engine,
    };
  }

  failedWithin(ms: number): boolean {
    return this.state === 'failed' && performance.now() - this.#failedAt < ms;
  }

  lend(): Engine {
    this.#stay();
    this.#leases += 1;
    return (this.opened as OpenedModel).engine;
  }

  /** Returns whether that was the last lease. */
  giveBack(): boolean {
    this.#leases -= 1;
    this.#usedAt = performance.now();
    return this.#leases === 0;
  }

  /** Calls `then` when nobody has used it for so long. */
  whenIdleFor(ms: number, then: () => void): void {
    this.#stay();
    if (!this.isIdle || ms === Infinity) return;
    this.#expiresAt = Math.ceil((Date.now() + ms) / 1000);
    this.#idleTimer = setTimeout(then, ms);
    this.#idleTimer.unref();
  }

  /** Never rejects: `failure` tells. */
  async load(signal: AbortSignal, onProgress: (fraction: number) => void): Promise<void> {
    const began = performance.now();
    this.failure = null;
    this.#progress = 0;
    this.#become('loading');
    const report = (fraction: number) => {
      this.#progress = fraction;
      this.#onChange(this);
      onProgress(fraction);
    };
    try {
      signal.throwIfAborted();
      this.opened = await this.source.open({ signal, onProgress: report, onState: () => this.#onChange(this) });
      this.#loadedAt = performance.now();
      this.#usedAt = this.#loadedAt;
      this.#loadMs = this.#loadedAt - began;
      this.measure();
      this.#become('loaded');
    } catch (error) {
      this.failure = error;
      this.#failedAt = performance.now();
      this.#become('failed');
    }
  }

  /** An engine that does not end well is gone all the same: its process is. `reason`: for requests that still use it. */
  async unload(reason?: ChasquiError): Promise<void> {
    this.#stay();
    this.isLeaving = false;
    this.keepMs = null;
    const { opened } = this;
    this.#become('unloading');
    await opened?.engine.close(reason).catch(() => {});
    this.opened = null;
    this.#become('unloaded');
  }

  /** What is mapped from the file and not read yet counts too. */
  measure(): void {
    if (this.opened === null) return;
    const bytes = this.opened.measure();
    if (bytes !== null) this.#bytes = Math.max(bytes, this.source.sizeBytes ?? 0);
  }

  #become(state: PlannedModel['state']): void {
    this.#state = state;
    this.#onChange(this);
  }

  #stay(): void {
    clearTimeout(this.#idleTimer);
    this.#expiresAt = null;
  }
}
