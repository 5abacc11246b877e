/** A pool of models: loads them on demand, as many as fit into memory, and evicts idle ones for others. */
import { untilAborted } from '../engine/calls.js';
import type { Engine } from '../engine/engine.js';
import { ChasquiError, invalidOptions, unsupportedParameter } from '../errors.js';
import { AdaptedEngine, withAdapters } from './adapters.js';
import { LoadProgress } from './load-progress.js';
import { ModelEvents } from './model-events.js';
import { type Named, namesOf } from './model-names.js';
import { ModelSlot } from './model-slot.js';
import type { ManagedSource } from './model-source.js';
import { type LoadPlan, planLoads } from './plan-loads.js';
import {
  type AcquireOptions,
  givenUp,
  type Lease,
  type LoadRequest,
  type ModelEntry,
  type ModelListener,
  type ModelPool,
  modelFailed,
  modelLoading,
  modelNotFound,
  modelNotLoaded,
  type Naming,
  noRoomForModel,
  type UnloadRequest,
  unloadedByForce,
} from './pool.js';
import { type ManagedPoolOptions, POOL_DEFAULTS } from './pool-options.js';
import { isWaitedForWithoutRequest, refuseOneMore, type Waiter, WITHOUT_REQUEST } from './waiter.js';

/** Requests retry a load that has failed, or a given-up engine, after this time, or when the files have changed. */
const RETRY_AFTER_MS = 30_000;

export class ManagedPool implements ModelPool {
  readonly #slots: ModelSlot[] = [];
  readonly #byName = new Map<string, Named>();
  readonly #options: ManagedPoolOptions & typeof POOL_DEFAULTS;
  readonly #closing = new AbortController();
  readonly #events = new ModelEvents();
  /** By model id, ordered by the first request of each. */
  readonly #waiters = new Map<ModelSlot, Set<Waiter>>();
  readonly #work = new Set<Promise<void>>();
  readonly #watchers = new Set<() => void>();
  #isReady = false;
  #timer: NodeJS.Timeout | undefined;

  /** @throws {ChasquiError} `invalid_options`: two models have the same name. */
  constructor(sources: readonly ManagedSource[], options: ManagedPoolOptions = {}) {
    this.#options = { ...POOL_DEFAULTS, ...options };
    for (const source of sources) this.add(source);
    for (const name of options.pins ?? []) this.#named(name).isPinned = true;
    this.#isReady = sources.some(({ opened }) => opened !== undefined);
  }

  /** The pool of a loaded engine, which stays until the pool is closed. */
  static of(engine: Engine, naming: Naming = {}): ManagedPool {
    const { id, sizeBytes } = engine.model;
    const opened = { engine, measure: () => null };
    return new ManagedPool(
      [{ id, aliases: [], sizeBytes, estimatedBytes: 0, opened, open: async () => opened }],
      naming,
    );
  }

  /** @throws {ChasquiError} `invalid_options`: the name is taken. */
  add(source: ManagedSource): void {
    const slot = new ModelSlot(source, {
      onChange: (changed) => this.#tellChange(changed),
      onIdle: this.#becameIdle,
    });
    const names = namesOf(slot);
    const taken = [...names].find(
      ([name, { isOptional }]) => !isOptional && this.#byName.get(name)?.isOptional === false,
    );
    if (taken !== undefined) {
      throw invalidOptions(`Two models have the name \`${taken[0]}\`: rename one of their files.`);
    }
    this.#slots.push(slot);
    for (const [name, named] of names) if (!named.isOptional || !this.#byName.has(name)) this.#byName.set(name, named);
    this.#tellChange(slot);
  }

  /** Removes a model, unless it is loaded; requests that wait for it are refused. Returns whether it was removed. */
  remove(id: string): boolean {
    const slot = this.#named(id);
    if (slot.state !== 'unloaded' && slot.state !== 'failed') return false;
    this.#refuseAll(slot, modelLoading(this.#entryOf(slot)));
    this.#slots.splice(this.#slots.indexOf(slot), 1);
    for (const [name, named] of this.#byName) if (named.slot === slot) this.#byName.delete(name);
    for (const entry of this.#entriesOf(slot)) this.#events.tellRemoved(entry.id);
    this.#tellChange();
    return true;
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  list(): readonly ModelEntry[] {
    return this.#slots.flatMap((slot) => this.#entriesOf(slot));
  }

  /**
   * Loads these models one after the other, as many as fit, and reports the share of their bytes that is loaded. Afterwards
   * requests wait for models. If there is only one model, rejects with the error of its load.
   */
  async start(ids: readonly string[], onProgress?: (fraction: number) => void): Promise<void> {
    const slots = ids.map((id) => this.#named(id));
    const progress = new LoadProgress(
      slots.map(({ source }) => source.sizeBytes),
      onProgress,
    );
    for (const [at, slot] of slots.entries()) {
      const id = ids[at] as string;
      const tell = progress.next(slot.source.sizeBytes);
      if (slot.state === 'loaded') continue;
      if (!this.#fits(slot)) {
        if (slot.isPinned) this.#options.onFailure?.(id, noRoomForModel(slot.source.id));
        continue;
      }
      await this.#load(slot, tell);
      this.#closing.signal.throwIfAborted();
      if (slot.failure === null) continue;
      if (ids.length === 1) throw slot.failure;
      this.#options.onFailure?.(id, slot.failure);
    }
    this.#isReady = true;
    this.#replan();
  }

  async acquire(name: string | undefined, on: AcquireOptions): Promise<Lease> {
    on.signal?.throwIfAborted();
    this.#closing.signal.throwIfAborted();
    const { slot, adapter } = this.#find(name);
    if (slot.isGivenUp && !slot.failedWithin(RETRY_AFTER_MS)) this.#unload(slot, givenUp(slot.source.id));
    const isOpen = slot.state === 'loaded' && !slot.isClosed;
    const { engine, release } = isOpen ? slot.lend(on.keepMs) : await this.#waitForLoad(slot, on);
    return { engine: adapter === null ? engine : new AdaptedEngine(engine, adapter), release };
  }

  async #waitForLoad(slot: ModelSlot, on: AcquireOptions): Promise<Lease> {
    if (!this.#isReady)
      throw slot.state === 'failed' ? modelFailed(this.#entryOf(slot)) : modelLoading(this.#entryOf(slot));
    if (slot.failedWithin(RETRY_AFTER_MS)) throw modelFailed(this.#entryOf(slot));
    if (!this.#options.autoload && (slot.state === 'unloaded' || slot.state === 'failed')) {
      throw modelNotLoaded(slot.source.id);
    }
    refuseOneMore(this.#waiters.get(slot), slot.source);
    return this.#wait(slot, on);
  }

  onEvent(listener: ModelListener): () => void {
    return this.#events.watch(listener);
  }

  /**
   * Calls `listener` when the state of a model or the progress of its load may have changed. Returns a function that removes
   * the listener.
   */
  watch(listener: () => void): () => void {
    this.#watchers.add(listener);
    return () => void this.#watchers.delete(listener);
  }

  /** Resolves when that is the case. */
  changed(): Promise<void> {
    return new Promise((resolve) => {
      const stop = this.watch(() => {
        stop();
        resolve();
      });
    });
  }

  load(id: string, { pin }: LoadRequest = {}): void {
    const slot = this.#named(id);
    if (!this.#isReady) throw modelLoading(this.#entryOf(slot));
    slot.isLeaving = false;
    if (slot.isGivenUp) this.#unload(slot, givenUp(slot.source.id));
    this.#pin(slot, pin);
    // Admits requests that waited for a cancelled unload.
    if (slot.state === 'loaded') this.#replan();
    if (slot.state === 'loaded' || isWaitedForWithoutRequest(this.#waiters.get(slot))) return;
    this.#wait(slot, WITHOUT_REQUEST).then(
      ({ release }) => release(),
      () => {},
    );
  }

  unload(id: string, { force = false }: UnloadRequest = {}): void {
    const slot = this.#named(id);
    if (!this.#isReady) throw modelLoading(this.#entryOf(slot));
    if (slot.source.opened !== undefined) {
      throw unsupportedParameter(`The model \`${id}\` stays as long as its server.`, 'model');
    }
    slot.isLeaving = slot.state === 'loaded' || slot.state === 'loading';
    if (force && slot.state === 'loaded') this.#unload(slot, unloadedByForce(slot.source.id));
    this.#replan();
  }

  /** Aborts all loads and closes all engines; rejects if one of them fails to close. */
  async close(): Promise<void> {
    const error = new ChasquiError('engine_closed', 'The server is shutting down.');
    this.#closing.abort(error);
    clearTimeout(this.#timer);
    for (const waiters of this.#waiters.values()) for (const waiter of waiters) waiter.refuse(error);
    await Promise.all(this.#work);
    await Promise.all(this.#slots.map((slot) => slot.opened?.engine.close()));
  }

  #entryOf(slot: ModelSlot): ModelEntry {
    return slot.toEntry(this.#waiters.get(slot)?.size ?? 0);
  }

  #entriesOf(slot: ModelSlot): ModelEntry[] {
    const isOwn = (name: string): boolean => {
      const named = this.#byName.get(name);
      return named?.slot === slot && named.adapter === name;
    };
    return withAdapters(this.#entryOf(slot), slot.source.adapters ?? [], isOwn);
  }

  #named(id: string): ModelSlot {
    const named = this.#byName.get(id);
    if (named === undefined) throw modelNotFound(id, this.list(), 'model');
    return named.slot;
  }

  #find(name: string | undefined): Named {
    const { anyName, selected } = this.#options;
    const named = this.#byName.get(name ?? '') ?? (anyName ? this.#byName.get(selected?.() ?? '') : undefined);
    if (named !== undefined) return named;
    const [first] = this.#slots;
    if (first !== undefined && (anyName || (name === undefined && this.#slots.length === 1))) {
      return { slot: this.#slots.find(({ state }) => state === 'loaded') ?? first, adapter: null, isOptional: false };
    }
    if (name !== undefined) throw modelNotFound(name, this.list(), 'model');
    const message = 'This server has several models: name one in `model`.';
    throw new ChasquiError('missing_required_parameter', message, 'model');
  }

  #pin(slot: ModelSlot, pin: boolean | undefined): void {
    if (pin === undefined || pin === slot.isPinned) return;
    slot.isPinned = pin;
    if (slot.isIdle) this.#becameIdle(slot);
    else this.#replan();
  }

  readonly #becameIdle = (slot: ModelSlot): void => {
    // Plans depend on idle models only while requests wait, or an unload is pending.
    if (this.#waiters.size > 0 || slot.isLeaving) this.#replan();
    else this.#tellChange();
    const { ttlMs = this.#options.ttlMs } = slot.source;
    const keepMs = slot.keepMs ?? (ttlMs || Infinity);
    slot.whenIdleFor(slot.isPinned || slot.source.opened ? Infinity : keepMs, () => this.#unload(slot));
  };

  async #wait(slot: ModelSlot, on: AcquireOptions): Promise<Lease> {
    const waiters: Set<Waiter> = this.#waiters.get(slot) ?? new Set();
    this.#waiters.set(slot, waiters);
    let leave = () => {};
    const admitted = new Promise<Lease>((resolve, reject) => {
      const waiter: Waiter = { admit: resolve, refuse: reject, on };
      waiters.add(waiter);
      leave = () => {
        if (!waiters.delete(waiter)) return;
        if (waiters.size === 0 && this.#waiters.get(slot) === waiters) this.#waiters.delete(slot);
        reject(modelLoading(this.#entryOf(slot)));
        this.#replan();
      };
    });
    const timer = setTimeout(leave, this.#options.loadTimeoutMs);
    this.#replan();
    try {
      return await untilAborted(admitted, on.signal, () => {
        leave();
        // It may have been admitted just before.
        admitted.then(
          ({ release }) => release(),
          () => {},
        );
      });
    } finally {
      clearTimeout(timer);
    }
  }

  #tellChange(slot?: ModelSlot): void {
    if (slot !== undefined) for (const entry of this.#entriesOf(slot)) this.#events.tell(entry);
    for (const tell of [...this.#watchers]) tell();
  }

  #replan(): void {
    this.#tellChange();
    if (!this.#isReady || this.#closing.signal.aborted) return;
    clearTimeout(this.#timer);
    const now = performance.now();
    for (const slot of [...this.#waiters.keys()]) {
      if (slot.state !== 'loaded' || slot.isLeaving) break;
      slot.isClosed = false;
      this.#admitAll(slot);
    }
    const waiting = [...this.#waiters.keys()].map(({ source }) => source.id);
    const plan = this.#plan(waiting, now);
    if (plan.refuse !== null) {
      const refused = this.#named(plan.refuse);
      this.#refuseAll(refused, noRoomForModel(refused.source.id));
      this.#replan();
      return;
    }
    for (const slot of this.#slots) {
      slot.isClosed = slot.isLeaving || plan.closed.includes(slot.source.id);
      if (plan.unload.includes(slot.source.id) || (slot.isLeaving && slot.isIdle)) this.#unload(slot);
      else if (slot.state === 'loaded' && !slot.isClosed) this.#admitAll(slot);
    }
    const wanted = plan.load === null ? undefined : this.#byName.get(plan.load)?.slot;
    if (wanted !== undefined) void this.#load(wanted);
    if (plan.againAt === null) return;
    this.#timer = setTimeout(() => this.#replan(), Math.max(1, plan.againAt - now));
    this.#timer.unref();
  }

  #admitAll(slot: ModelSlot): void {
    for (const waiter of this.#takeWaiters(slot)) waiter.admit(slot.lend(waiter.on.keepMs));
  }

  #refuseAll(slot: ModelSlot, error: ChasquiError): void {
    for (const waiter of this.#takeWaiters(slot)) waiter.refuse(error);
  }

  #takeWaiters(slot: ModelSlot): Waiter[] {
    const waiters = this.#waiters.get(slot) ?? new Set();
    this.#waiters.delete(slot);
    const taken = [...waiters];
    waiters.clear();
    return taken;
  }

  #load(slot: ModelSlot, onProgress?: (fraction: number) => void): Promise<void> {
    const tell = (fraction: number) => {
      onProgress?.(fraction);
      for (const waiter of this.#waiters.get(slot) ?? []) waiter.on.onProgress?.(fraction);
    };
    return this.#do(async () => {
      await slot.load(this.#closing.signal, tell);
      this.#options.budget.learn(slot.opened?.engine.model.gpus ?? []);
      if (slot.failure === null) {
        this.#admitAll(slot);
        if (slot.isIdle) this.#becameIdle(slot);
      } else {
        if (this.#isReady && !this.#closing.signal.aborted) this.#options.onFailure?.(slot.source.id, slot.failure);
        this.#refuseAll(slot, modelFailed(this.#entryOf(slot)));
      }
      this.#replan();
    });
  }

  /** `reason` ends the requests that use it; without a reason the model must be idle. */
  #unload(slot: ModelSlot, reason?: ChasquiError): void {
    if (!slot.isIdle && reason === undefined) return;
    void this.#do(() => slot.unload(reason).then(() => this.#replan()));
  }

  /** `close()` waits for it. */
  #do(work: () => Promise<void>): Promise<void> {
    const doing = work().finally(() => this.#work.delete(doing));
    this.#work.add(doing);
    return doing;
  }

  #fits(slot: ModelSlot): boolean {
    return this.#plan([slot.source.id], performance.now()).load === slot.source.id;
  }

  #plan(waiting: readonly string[], now: number): LoadPlan {
    const models = this.#slots.map(({ planned }) => planned);
    const { budget, maxModels } = this.#options;
    return planLoads({ models, waiting, budgetBytes: budget.bytes, maxModels, now });
  }
}
