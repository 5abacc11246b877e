/** The state of one model in a pool. */
import type { ModelInfo } from '../engine/engine.js';
import { ChasquiError } from '../errors.js';
import type { ManagedSource, OpenedModel } from './model-source.js';
import type { PlannedModel } from './plan-loads.js';
import { type Lease, type ModelEntry, reasonOf } from './pool.js';

const GIVEN_UP = new ChasquiError('engine_failed', 'The engine was given up.');
const RESTARTING = new ChasquiError('engine_restarting', 'The engine is started again.');

export interface SlotListener {
  /** The state, or the progress of a load, has changed. */
  onChange?(slot: ModelSlot): void;
  /** The last lease has ended. */
  onIdle?(slot: ModelSlot): void;
}

export class ModelSlot {
  /** Changes in `load` and `unload` only. */
  state: PlannedModel['state'] = 'unloaded';
  /** Accepts no new requests, because others wait for its memory. */
  isClosed = false;
  /** Is unloaded as soon as it is idle. */
  isLeaving = false;
  /** Its engine has failed, but stays in the slot until it is unloaded. */
  isGivenUp = false;
  /** Is never evicted, and never unloaded for being idle. */
  isPinned: boolean;
  /** Idle time before it is unloaded, set by the last request that had one; `null`: none had. */
  keepMs: number | null = null;
  /** Why the last load failed. */
  failure: unknown = null;
  opened: OpenedModel | null = null;
  #lastModel: ModelInfo | null = null;
  readonly #created: number;
  #progress = 0;
  #bytes: number;
  #leases = 0;
  #usedAt = 0;
  #loadedAt = 0;
  #loadMs = 0;
  #failedAt = -Infinity;
  /** When the files that failed were modified. */
  #modifiedMs: number | null | undefined;
  #expiresAt: number | null = null;
  #idleTimer: NodeJS.Timeout | undefined;

  constructor(
    readonly source: ManagedSource,
    private readonly listener: SlotListener = {},
  ) {
    this.isPinned = source.pin ?? false;
    this.#bytes = source.estimatedBytes;
    this.#created = Math.floor((source.modifiedMs?.() ?? Date.now()) / 1000);
    if (source.opened === undefined) return;
    this.opened = source.opened;
    this.state = 'loaded';
  }

  get planned(): PlannedModel {
    this.#measure();
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

  get isIdle(): boolean {
    return this.state === 'loaded' && this.#leases === 0;
  }

  /** `waiting`: the number of requests that wait for it. */
  toEntry(waiting: number): ModelEntry {
    const { id, aliases, tags = [], sizeBytes } = this.source;
    const engine = this.state === 'loaded' ? (this.opened?.engine ?? null) : null;
    this.#measure();
    const { isGivenUp } = this;
    const isRestarting = engine?.state === 'restarting';
    const failure = isGivenUp ? GIVEN_UP : isRestarting ? RESTARTING : this.state === 'failed' ? this.failure : null;
    return {
      id,
      aliases,
      ...(tags.length > 0 && { tags }),
      parent: null,
      status: isGivenUp ? 'failed' : isRestarting ? 'loading' : this.state === 'unloading' ? 'unloaded' : this.state,
      created: engine?.model.created ?? this.#created,
      progress: this.state === 'loading' ? this.#progress : null,
      sizeBytes,
      reason: failure === null ? null : reasonOf(failure),
      memoryBytes: engine && !isGivenUp ? this.#bytes || null : null,
      pid: engine?.processes?.engine ?? null,
      preparationPid: engine?.processes?.preparation ?? null,
      running: this.#leases,
      waiting,
      expiresAt: engine && this.#expiresAt,
      pinned: this.isPinned,
      engine,
      lastModel: engine?.model ?? this.#lastModel,
    };
  }

  /** Whether its load failed or its engine was given up within this time, and its files are the same. */
  failedWithin(ms: number): boolean {
    if (performance.now() - this.#failedAt >= ms || this.source.modifiedMs?.() !== this.#modifiedMs) return false;
    return this.state === 'failed' || this.isGivenUp;
  }

  /** Requires a loaded model. `keepMs`: as in `AcquireOptions`. */
  lend(keepMs: number | undefined): Lease {
    this.#stay();
    this.#leases += 1;
    this.keepMs = keepMs ?? this.keepMs;
    let held = true;
    const release = () => {
      if (!held) return;
      held = false;
      this.#leases -= 1;
      this.#usedAt = performance.now();
      if (this.#leases === 0) this.listener.onIdle?.(this);
    };
    return { engine: (this.opened as OpenedModel).engine, release };
  }

  /** Calls `then` after this idle time. */
  whenIdleFor(ms: number, then: () => void): void {
    this.#stay();
    if (!this.isIdle || ms === Infinity) return;
    this.#expiresAt = Math.ceil((Date.now() + ms) / 1000);
    this.#idleTimer = setTimeout(then, ms);
    this.#idleTimer.unref();
  }

  /** Never rejects: sets `failure`. */
  async load(signal: AbortSignal, onProgress: (fraction: number) => void): Promise<void> {
    const began = performance.now();
    this.failure = null;
    this.#modifiedMs = this.source.modifiedMs?.();
    this.#progress = 0;
    this.#become('loading');
    const report = (fraction: number) => {
      this.#progress = fraction;
      this.listener.onChange?.(this);
      onProgress(fraction);
    };
    try {
      signal.throwIfAborted();
      const onState = () => {
        this.isGivenUp = this.state === 'loaded' && this.opened?.engine.state === 'failed';
        if (this.isGivenUp) {
          this.#failedAt = performance.now();
          this.#modifiedMs = this.source.modifiedMs?.();
        }
        this.listener.onChange?.(this);
      };
      this.opened = await this.source.open({ signal, onProgress: report, onState });
      this.#loadedAt = performance.now();
      this.#usedAt = this.#loadedAt;
      this.#loadMs = this.#loadedAt - began;
      this.#become('loaded');
    } catch (error) {
      this.failure = error;
      this.#failedAt = performance.now();
      this.#become('failed');
    }
  }

  /** Ignores errors, because the process of the engine ends in any case. `reason` ends requests that still use it. */
  async unload(reason?: ChasquiError): Promise<void> {
    this.#stay();
    this.isLeaving = false;
    this.isGivenUp = false;
    this.keepMs = null;
    const { opened } = this;
    this.#lastModel = opened?.engine.model ?? null;
    this.#become('unloading');
    await opened?.engine.close(reason).catch(() => {});
    this.opened = null;
    this.#become('unloaded');
  }

  /** Includes mapped parts of the file that are not read yet. */
  #measure(): void {
    if (this.state !== 'loaded' || this.opened === null) return;
    const bytes = this.opened.measure();
    if (bytes !== null) this.#bytes = Math.max(bytes, this.source.sizeBytes ?? 0);
  }

  #become(state: PlannedModel['state']): void {
    this.state = state;
    this.listener.onChange?.(this);
  }

  #stay(): void {
    clearTimeout(this.#idleTimer);
    this.#expiresAt = null;
  }
}
