/**
 * The loaded models of the app and its server, each with its own options. An instance is a name in the pool with a
 * model file and load options. Each model has one instance of its own name, and more on request.
 */
import { isDeepStrictEqual } from 'node:util';
import { completeLoadOptions, type LoadOptions } from '../engine/load-options.js';
import { ChasquiError, invalidValue } from '../errors.js';
import type { Metrics } from '../metrics/metrics.js';
import { conversationBytes } from '../models/estimate-memory.js';
import { ManagedPool } from '../models/managed-pool.js';
import { MemoryBudget } from '../models/memory-budget.js';
import type { ManagedSource } from '../models/model-source.js';
import { type ModelEntry, modelNotFound } from '../models/pool.js';
import { LOAD_OPTIONS } from '../options/load-option-table.js';
import { availableMemory } from '../process/process-usage.js';
import { type EngineSettings, toSource } from '../server/open-pool.js';
import type { LoadConfig, LoadedModel } from './api-types.js';
import { loadNotes } from './load-notes.js';
import type { LocalModel } from './local-model.js';
import type { MachineWatch } from './machine.js';
import type { Keep } from './store/settings.js';

interface Instance {
  model: LocalModel;
  options: LoadOptions;
  /** Cancels the current load. */
  cancel: AbortController;
  /** Full error of the last load. Local users may see paths. */
  failure: string | null;
}

/** A load in progress, or waiting for another of the same name. */
interface Load {
  file: string;
  options: LoadOptions;
  loaded: Promise<ModelEntry>;
}

export interface InstancesSettings {
  engine: EngineSettings;
  /** Default folder for cached conversations (`cacheDiskMiB`). */
  cacheFolder: string;
  metrics: Metrics;
  machine: MachineWatch;
  /** Model for unknown names. */
  selected(): string | null;
  defaultsOf(model: string): LoadConfig;
  keepOf(model: string): Keep;
  onFailure(id: string, error: unknown): void;
}

/** The share of free memory, without the weights, that further conversations may take. */
const SHARE_OF_MEMORY = 0.5;
const LOAD_TIMEOUT_MS = 3_600_000;

export class Instances {
  readonly pool: ManagedPool;
  readonly #instances = new Map<string, Instance>();
  /** The latest requested load per name. */
  readonly #loads = new Map<string, Load>();
  #models: readonly LocalModel[] = [];

  constructor(private readonly settings: InstancesSettings) {
    this.pool = new ManagedPool([], {
      budget: MemoryBudget.ofFree(availableMemory()),
      anyName: true,
      loadTimeoutMs: LOAD_TIMEOUT_MS,
      selected: settings.selected,
      onFailure: settings.onFailure,
    });
  }

  get models(): readonly LocalModel[] {
    return this.#models;
  }

  /** Replaces the list of models. Loaded ones stay until they are unloaded. */
  know(models: readonly LocalModel[]): void {
    this.#models = models;
    for (const [id, { model }] of this.#instances) {
      const same = models.find((each) => each.id === model.id);
      if (same?.path !== model.path) this.#forget(id);
    }
    for (const model of models)
      if (!this.#instances.has(model.id)) this.#place(model.id, model, this.#optionsFor(model));
  }

  /** @throws {ChasquiError} `model_not_found` */
  find(name: string): LocalModel {
    const found = this.#models.find(({ id, path }) => id === name || path === name);
    if (found !== undefined) return found;
    throw modelNotFound(name, this.pool.list(), 'model');
  }

  list(): LoadedModel[] {
    return this.pool
      .list()
      .filter(({ status, waiting }) => status !== 'unloaded' || waiting > 0)
      .map((entry) => this.#toLoaded(entry));
  }

  instancesOf(model: string): { id: string; config: LoadConfig }[] {
    return this.list()
      .filter((each) => each.model === model && each.state === 'loaded')
      .map(({ id, config }) => ({ id, config }));
  }

  /**
   * Loads a model with these options; without options, keeps those of a loaded instance. Different options reload it
   * after the current load and its running requests. Rejects with `invalid_options`, or with `engine_failed` and the
   * reason.
   */
  load(name: string, config?: LoadConfig, { id, ttlMs }: { id?: string; ttlMs?: number } = {}): Promise<ModelEntry> {
    const model = this.find(name);
    const instance = id ?? model.id;
    if (instance !== model.id && this.#models.some((other) => other.id === instance)) {
      throw invalidValue(`The name \`${instance}\` belongs to another model.`, 'identifier');
    }
    const isLoaded = this.#entry(instance)?.status === 'loaded';
    const kept = isLoaded && config === undefined ? this.#instances.get(instance)?.options : undefined;
    const options = kept ?? this.#optionsFor(model, config);
    const before = this.#loads.get(instance);
    const isSame = config === undefined || isDeepStrictEqual(before?.options, options);
    if (before !== undefined && before.file === model.path && isSame) return before.loaded;
    const begin = () => this.#load(instance, model, options, ttlMs);
    const loading =
      before === undefined ? begin() : before.loaded.then(begin, (error) => unlessCancelled(error, begin));
    const loaded = loading.finally(() => {
      if (this.#loads.get(instance) === load) this.#loads.delete(instance);
    });
    const load: Load = { file: model.path, options, loaded };
    this.#loads.set(instance, load);
    return loaded;
  }

  configOf(id: string): LoadConfig {
    return { ...this.#instances.get(id)?.options };
  }

  /** Resolves when the model is unloaded, after its running requests. Rejects with `model_not_found`. */
  async unload(id: string): Promise<void> {
    const instance = this.#instances.get(id);
    if (instance === undefined) throw modelNotFound(id, this.pool.list(), 'instance_id');
    await this.#emptied(id);
    // A concurrent call may have unloaded it.
    if (!this.#instances.has(id) && this.#models.includes(instance.model) && id === instance.model.id) {
      this.#place(id, instance.model, this.#optionsFor(instance.model));
    }
  }

  async unloadAll(model: string): Promise<void> {
    const ids = [...this.#instances].filter(([, instance]) => instance.model.id === model).map(([id]) => id);
    await Promise.all(ids.map((id) => this.unload(id)));
  }

  /** Applies new keep settings to all instances. */
  settingsChanged(): void {
    for (const [id, { model }] of [...this.#instances]) {
      const { status, waiting } = this.#entry(id) ?? {};
      if (id !== model.id || status !== 'unloaded' || waiting !== 0) continue;
      if (this.#forget(id)) this.#place(id, model, this.#optionsFor(model));
    }
  }

  /** Load options if a request gives none. */
  defaultsOf(model: string): LoadOptions {
    return this.#optionsFor(this.find(model));
  }

  /** Cancels the running and waiting loads of a model. @throws {ChasquiError} `model_not_found` */
  cancel(id: string): void {
    const instance = this.#instances.get(id);
    if (instance === undefined) throw modelNotFound(id, this.pool.list(), 'model');
    if (this.#entry(id)?.status === 'loaded') return;
    // A load started by a request has no other owner that cleans up.
    if (!this.#loads.has(id)) void this.#cancelled(id, instance);
    instance.cancel.abort(new ChasquiError('request_cancelled', `The load of \`${id}\` was cancelled.`));
  }

  async #load(id: string, model: LocalModel, options: LoadOptions, ttlMs: number | undefined): Promise<ModelEntry> {
    const before = this.#instances.get(id);
    const isLoaded = this.#entry(id)?.status === 'loaded';
    if (!isLoaded || before?.model.path !== model.path || !isDeepStrictEqual(before.options, options)) {
      do await this.#emptied(id);
      while (!this.#forget(id));
      this.#place(id, model, options, ttlMs);
    }
    const instance = this.#instances.get(id) as Instance;
    const { signal } = instance.cancel;
    try {
      const { release } = await this.pool.acquire(id, { signal });
      release();
      return this.#entry(id) as ModelEntry;
    } catch (error) {
      if (signal.aborted) await this.#cancelled(id, instance);
      if (instance.failure === null || signal.aborted) throw error;
      throw couldNotLoad(id, instance.failure);
    }
  }

  /** Resolves when no instance of this name is loaded or loading. */
  async #emptied(id: string): Promise<void> {
    if (this.#forget(id)) return;
    // Call it once: unloading is itself a change, and two callers that react to every change would wake each other
    // endlessly.
    this.pool.unload(id);
    do await this.pool.changed();
    while (!this.#forget(id));
  }

  /** A cancelled load is not a failure. */
  async #cancelled(id: string, instance: Instance): Promise<void> {
    while (this.#entry(id)?.status === 'loading') await this.pool.changed();
    if (this.#instances.get(id) === instance) await this.unload(id);
  }

  #place(id: string, model: LocalModel, options: LoadOptions, given?: number): void {
    const instance: Instance = { model, options, cancel: new AbortController(), failure: null };
    this.#instances.set(id, instance);
    const { engine, metrics, cacheFolder, machine } = this.settings;
    const loaded = { cacheFolder, parallel: slotsFor(model, options, machine), ...options, alias: [id] };
    const source = toSource({ id, file: model.path, model: loaded, engine }, metrics);
    const keep = this.settings.keepOf(model.id);
    const own = given === undefined ? keep : { ttlMs: given, pin: false };
    this.pool.add({ ...source, ...own, open: (hooks) => openInstance(source, instance, hooks) });
  }

  #forget(id: string): boolean {
    if (this.#entry(id) !== undefined && !this.pool.remove(id)) return false;
    this.#instances.delete(id);
    return true;
  }

  #optionsFor({ id, projector }: LocalModel, config: LoadConfig = {}): LoadOptions {
    const own = projector === null ? {} : { mmproj: projector };
    const options = { ...own, ...this.settings.defaultsOf(id), ...config };
    completeLoadOptions(options);
    return options;
  }

  #entry(id: string): ModelEntry | undefined {
    return this.pool.list().find((entry) => entry.id === id);
  }

  #toLoaded(entry: ModelEntry): LoadedModel {
    const { id, status, progress, memoryBytes, running, waiting, expiresAt, pinned, reason, engine } = entry;
    const { pid, preparationPid } = entry;
    const instance = this.#instances.get(id);
    return {
      id,
      model: instance?.model.id ?? id,
      state: status === 'unloaded' ? 'loading' : status,
      progress: status === 'unloaded' ? 0 : progress,
      memoryBytes: memoryBytes === null ? null : Math.round(memoryBytes),
      contextLength: engine?.model.contextLength ?? null,
      audio: engine?.model.inputModalities.includes('audio') ?? false,
      running,
      queued: waiting,
      expiresAt,
      pinned,
      pid,
      preparationPid,
      reason: status === 'failed' ? (instance?.failure ?? reason) : reason,
      notes: engine === null ? [] : loadNotes(engine.model, this.configOf(id)),
      config: this.configOf(id),
    };
  }
}

/** Memory is planned for one conversation; there are slots for more if they fit too. */
function slotsFor({ path, sizeBytes }: LocalModel, options: LoadOptions, machine: MachineWatch): number {
  const { freeBytes, gpus } = machine.now;
  const onGpus = gpus.reduce((sum, gpu) => sum + gpu.freeBytes, 0);
  const room = (Math.max(freeBytes, onGpus) - sizeBytes) * SHARE_OF_MEMORY;
  const fitting = Math.floor(room / (conversationBytes(path, options) || 1));
  return Math.max(1, Math.min(fitting, LOAD_OPTIONS.parallel.default));
}

/** A cancelled load cancels the loads that wait for it. */
function unlessCancelled<Result>(error: unknown, task: () => Promise<Result>): Promise<Result> {
  if (error instanceof ChasquiError && error.code === 'request_cancelled') throw error;
  return task();
}

/** Matches out-of-memory errors of llama.cpp and the drivers. */
const WANT_OF_MEMORY = /memory|alloc|CUDA error|buffer/i;

function couldNotLoad(id: string, reason: string): ChasquiError {
  const advice = WANT_OF_MEMORY.test(reason)
    ? ' If memory ran out, choose a smaller context, fewer GPU layers, or a smaller quantisation.'
    : '';
  return new ChasquiError('engine_failed', `Could not load \`${id}\`. ${reason}${advice}`);
}

async function openInstance(
  source: ManagedSource,
  instance: Instance,
  hooks: Parameters<ManagedSource['open']>[0],
): ReturnType<ManagedSource['open']> {
  const signals = [instance.cancel.signal, ...(hooks.signal === undefined ? [] : [hooks.signal])];
  instance.failure = null;
  try {
    return await source.open({ ...hooks, signal: AbortSignal.any(signals) });
  } catch (error) {
    instance.failure = error instanceof Error ? error.message : String(error);
    throw error;
  }
}
