/**
 * The models that are loaded for the app and its server, each with options of its own. An instance is a name of the pool
 * with a model's file and the options to load it with; a model has one of its own name, and more where a person asks
 * for them.
 */
import { isDeepStrictEqual } from 'node:util';
import { completeLoadOptions, type LoadOptions } from '../engine/load-options.js';
import { ChasquiError } from '../errors.js';
import type { Metrics } from '../metrics/metrics.js';
import { ManagedPool } from '../models/managed-pool.js';
import { MemoryBudget } from '../models/memory-budget.js';
import type { ManagedSource } from '../models/model-source.js';
import { type ModelEntry, modelNotFound } from '../models/pool.js';
import { type EngineSettings, freeBytes, toSource } from '../server/open-pool.js';
import type { LoadConfig, LoadedModel } from './api-types.js';
import { loadNotes } from './load-notes.js';
import type { LocalModel } from './local-model.js';
import type { Keep } from './store/settings.js';

interface Instance {
  model: LocalModel;
  options: LoadOptions;
  /** Ends the load that is under way. */
  cancel: AbortController;
  /** Why the last load failed, in full: the person at this computer may know all of it. */
  failure: string | null;
}

/** A load that is under way, or that waits for another of its name. */
interface Load {
  file: string;
  options: LoadOptions;
  loaded: Promise<ModelEntry>;
}

export interface InstancesSettings {
  engine: EngineSettings;
  /** Where conversations are kept on disk, for models whose options ask for that and name no folder. */
  cacheFolder: string;
  metrics: Metrics;
  /** The model that a name means which no model has. */
  selected(): string | null;
  /** Options for a model that is loaded without others. */
  defaultsOf(model: string): LoadConfig;
  keepOf(model: string): Keep;
  onFailure(id: string, error: unknown): void;
}

const LOAD_TIMEOUT_MS = 3_600_000;

export class Instances {
  readonly pool: ManagedPool;
  readonly #settings: InstancesSettings;
  readonly #instances = new Map<string, Instance>();
  /** The last one that was asked for, of each name. */
  readonly #loads = new Map<string, Load>();
  #models: readonly LocalModel[] = [];

  constructor(settings: InstancesSettings) {
    this.#settings = settings;
    this.pool = new ManagedPool([], {
      budget: MemoryBudget.ofFree(freeBytes()),
      anyName: true,
      autoload: true,
      loadTimeoutMs: LOAD_TIMEOUT_MS,
      ttlMs: 0,
      selected: settings.selected,
      onFailure: settings.onFailure,
    });
  }

  get models(): readonly LocalModel[] {
    return this.#models;
  }

  /** From now on these are the models; those that are loaded stay until they are unloaded. */
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

  /** What is loaded, being loaded, or failed to be. */
  list(): LoadedModel[] {
    return this.pool
      .list()
      .filter(({ status, waiting }) => status !== 'unloaded' || waiting > 0)
      .map((entry) => this.#toLoaded(entry));
  }

  /** The options that the instances of a model were loaded with. */
  instancesOf(model: string): { id: string; config: LoadConfig }[] {
    return this.list()
      .filter((each) => each.model === model && each.state === 'loaded')
      .map(({ id, config }) => ({ id, config }));
  }

  /**
   * Loads a model with these options, or leaves it loaded with them; without options, with whatever it has. Other options
   * have it loaded anew, when a load that is under way and the requests that use it are done. Rejects with
   * `invalid_options`, and with `engine_failed` and why it could not be loaded.
   */
  load(name: string, config?: LoadConfig, { id, ttlMs }: { id?: string; ttlMs?: number } = {}): Promise<ModelEntry> {
    const model = this.find(name);
    const instance = id ?? model.id;
    if (instance !== model.id && this.#models.some((other) => other.id === instance)) {
      throw new ChasquiError('invalid_value', `\`${instance}\` is the name of another model.`, 'identifier');
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

  /** Resolves when it is unloaded, which is as soon as nobody uses it. Rejects with `model_not_found`. */
  async unload(id: string): Promise<void> {
    const instance = this.#instances.get(id);
    if (instance === undefined) throw modelNotFound(id, this.pool.list(), 'instance_id');
    await this.#emptied(id);
    // Whoever waited for the same may have been faster.
    if (!this.#instances.has(id) && this.#models.includes(instance.model) && id === instance.model.id) {
      this.#place(id, instance.model, this.#optionsFor(instance.model));
    }
  }

  /** Resolves when no instance of the model is loaded. */
  async unloadAll(model: string): Promise<void> {
    const ids = [...this.#instances].filter(([, instance]) => instance.model.id === model).map(([id]) => id);
    await Promise.all(ids.map((id) => this.unload(id)));
  }

  /** What was set anew holds for models that are not loaded, too, whoever has them loaded. */
  settingsChanged(): void {
    for (const [id, { model }] of [...this.#instances]) {
      const { status, waiting } = this.#entry(id) ?? {};
      if (id !== model.id || status !== 'unloaded' || waiting !== 0) continue;
      if (this.#forget(id)) this.#place(id, model, this.#optionsFor(model));
    }
  }

  /** The options that a model is loaded with where nobody says otherwise. */
  defaultsOf(model: string): LoadOptions {
    return this.#optionsFor(this.find(model));
  }

  /** Ends the load of a model, if there is one, and those that wait for it. @throws {ChasquiError} `model_not_found` */
  cancel(id: string): void {
    const instance = this.#instances.get(id);
    if (instance === undefined) throw modelNotFound(id, this.pool.list(), 'model');
    if (this.#entry(id)?.status === 'loaded') return;
    // A load that a request has asked for has nobody else who clears up after it.
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

  /** Resolves when nothing of this name is loaded or being loaded. */
  async #emptied(id: string): Promise<void> {
    if (this.#forget(id)) return;
    // It is asked for once: that is a change itself, and two that ask at every change would wake each other without end.
    this.pool.unload(id);
    do await this.pool.changed();
    while (!this.#forget(id));
  }

  /** A load that was cancelled is none that failed. */
  async #cancelled(id: string, instance: Instance): Promise<void> {
    while (this.#entry(id)?.status === 'loading') await this.pool.changed();
    if (this.#instances.get(id) === instance) await this.unload(id);
  }

  #place(id: string, model: LocalModel, options: LoadOptions, given?: number): void {
    const instance: Instance = { model, options, cancel: new AbortController(), failure: null };
    this.#instances.set(id, instance);
    const { engine, metrics, cacheFolder } = this.#settings;
    const loaded = { cacheFolder, ...options, alias: [id] };
    const source = toSource({ id, file: model.path, model: loaded, engine }, metrics);
    const keep = this.#settings.keepOf(model.id);
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
    const options = { ...own, ...this.#settings.defaultsOf(id), ...config };
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

/** Whoever cancels a load wants none that waits for it, either. */
function unlessCancelled<Result>(error: unknown, task: () => Promise<Result>): Promise<Result> {
  if (error instanceof ChasquiError && error.code === 'request_cancelled') throw error;
  return task();
}

/** llama.cpp and the drivers have many words for it. */
const WANT_OF_MEMORY = /memory|alloc|CUDA error|buffer/i;

function couldNotLoad(id: string, reason: string): ChasquiError {
  const advice = WANT_OF_MEMORY.test(reason)
    ? ' If memory was short: choose a smaller context, fewer layers on the GPU, or a smaller quantisation.'
    : '';
  return new ChasquiError('engine_failed', `The model \`${id}\` could not be loaded. ${reason}${advice}`);
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
