/** Creates the model pool of a server from its settings. */

import { readAdapterFiles } from '../engine/adapter-file.js';
import { SupervisedEngine, type SupervisorHooks } from '../engine/child/supervised-engine.js';
import type { Engine } from '../engine/engine.js';
import { type LoadHooks, type LoadOptions, namesOf } from '../engine/load-options.js';
import { loadModel } from '../engine/model.js';
import { modifiedMsOf, sizeOfModel } from '../engine/model-files.js';
import { invalidOptions } from '../errors.js';
import type { Metrics } from '../metrics/metrics.js';
import { estimateMemory } from '../models/estimate-memory.js';
import { ManagedPool } from '../models/managed-pool.js';
import { MemoryBudget } from '../models/memory-budget.js';
import type { ManagedSource, OpenHooks } from '../models/model-source.js';
import type { ModelPool } from '../models/pool.js';
import type { ManagedPoolOptions } from '../models/pool-options.js';
import { removeModel } from '../models/remove-model.js';
import { LOAD_OPTIONS } from '../options/load-option-table.js';
import { availableMemory, residentBytesOf } from '../process/process-usage.js';
import {
  type LibraryFile,
  libraryModelSpecs,
  type ModelFiles,
  type ModelSpec,
  modelSpecs,
  realPath,
} from './model-specs.js';

export interface ModelsSettings
  extends ModelFiles,
    Omit<ManagedPoolOptions, 'anyName' | 'budget' | 'selected' | 'onFailure'> {
  /** Memory of all loaded models; default: 80 % of free main memory and of GPU memory. */
  budgetBytes?: number;
}

export interface EngineSettings extends Pick<SupervisorHooks, 'stepTimeoutMs' | 'coreDumps' | 'onRestart'> {
  /** Compute in the server's process, which then crashes with the engine; default false. */
  inProcess?: boolean;
}

interface PoolSettings {
  models: ModelsSettings;
  model?: LoadOptions | undefined;
  engine?: EngineSettings | undefined;
}

export interface ServedModels {
  pool: ModelPool;
  /** Serves another model of the local library. @throws {ChasquiError} `invalid_options`: the name is taken. */
  add(file: LibraryFile): void;
  /**
   * Resolves when the model is unloaded, after its running requests, and no longer served. Rejects with `not_deletable` if
   * they do not finish in time.
   */
  remove(id: string): Promise<void>;
  /** Whether the settings name this file, rather than its folder or the library. */
  isFixed(file: string): boolean;
  /** Resolves when requests are accepted; rejects if the only model cannot be loaded. */
  start(onProgress: LoadHooks['onProgress']): Promise<void>;
  close(): Promise<void>;
}

/** Shorter than the usual timeouts of clients and proxies. */
const REMOVE_TIMEOUT_MS = 30_000;

/** @throws {ChasquiError} `invalid_options`: the settings contradict each other, or the folder has no models. */
export function openPool(settings: PoolSettings, metrics: Metrics, anyName: boolean): ServedModels {
  const { models, engine } = settings;
  refuseForSeveral(settings);
  const specs = modelSpecs(models, settings.model ?? {});
  const isSingle = isSingleModel(models);
  const sourceOf = ({ options, ...spec }: ModelSpec): ManagedSource =>
    toSource({ ...spec, model: isSingle ? { fit: 'on', ...options } : options, engine }, metrics);
  const sources = specs.map(sourceOf);
  const named = (models.pins ?? []).map((name) => idOf(name, sources));
  const pinned = [...new Set([...named, ...specs.filter(({ pin }) => pin).map(({ id }) => id)])];
  const first = [...new Set([...pinned, ...specs.filter(({ atStart }) => atStart).map(({ id }) => id)])];
  const { budgetBytes } = models;
  const budget = budgetBytes === undefined ? MemoryBudget.ofFree(availableMemory()) : MemoryBudget.of(budgetBytes);
  const pool = new ManagedPool(sources, { ...models, budget, anyName, pins: pinned });
  const fixed = new Set([...models.paths, ...(models.presets ?? []).flatMap(({ file }) => file ?? [])].map(realPath));
  return {
    pool,
    add: (file) => {
      for (const spec of libraryModelSpecs(file, models, settings.model ?? {})) pool.add(sourceOf(spec));
    },
    remove: (id) => removeModel(pool, id, REMOVE_TIMEOUT_MS),
    isFixed: (file) => fixed.has(realPath(file)),
    start: (onProgress) => pool.start(first, onProgress),
    close: () => pool.close(),
  };
}

export interface SourceSettings extends Omit<PoolSettings, 'models'> {
  id: string;
  aliases?: readonly string[];
  file: string;
  ttlMs?: number | undefined;
}

export function toSource(
  { id, aliases = [], file, ttlMs, ...settings }: SourceSettings,
  metrics: Metrics,
): ManagedSource {
  const sizeBytes = sizeOfModel(file);
  // With `fit`, each of several models would take half of the free memory.
  const model: LoadOptions = { fit: 'off', ...settings.model };
  const estimatedBytes = estimateMemory(file, sizeBytes ?? 0, model);
  return {
    id,
    aliases,
    tags: namesOf(model.tags),
    sizeBytes,
    modifiedMs: () => modifiedMsOf(file),
    estimatedBytes,
    adapters: readAdapterFiles(model.lora),
    maxWaiting: (model.parallel ?? LOAD_OPTIONS.parallel.default) + (model.maxQueue ?? LOAD_OPTIONS.maxQueue.default),
    ...(ttlMs !== undefined && { ttlMs }),
    open: async (hooks) => {
      const engine = await openEngine(id, file, { ...settings, model: { ...model, alias: [id] } }, metrics, hooks);
      return { engine, measure: () => measure(engine, estimatedBytes) };
    },
  };
}

function idOf(pin: string, sources: readonly ManagedSource[]): string {
  const source = sources.find(({ id, aliases }) => id === pin || aliases.includes(pin));
  if (source !== undefined) return source.id;
  throw invalidOptions(`\`pin\` names ${pin}, which is not one of the models.`);
}

function isSingleModel({ paths, folder, library, presets = [] }: ModelFiles): boolean {
  return paths.length === 1 && folder === undefined && library === undefined && presets.length === 0;
}

function refuseForSeveral({ models, model = {}, engine = {} }: PoolSettings): void {
  if (isSingleModel(models)) return;
  if (engine.inProcess) {
    throw invalidOptions('Several models compute in processes of their own: leave `engine` out.');
  }
  const name = (['alias', 'mmproj'] as const).find((each) => model[each] !== undefined && model[each] !== null);
  if (name !== undefined) throw invalidOptions(`\`${name}\` is for a single model: leave it out.`);
}

async function openEngine(
  id: string,
  file: string,
  { model = {}, engine = {} }: Omit<PoolSettings, 'models'>,
  metrics: Metrics,
  { onState, ...hooks }: OpenHooks,
): Promise<Engine> {
  const { inProcess = false, onRestart, ...supervision } = engine;
  const began = performance.now();
  const opened = inProcess
    ? await loadModel(file, model, hooks)
    : await SupervisedEngine.open(file, model, {
        ...hooks,
        ...supervision,
        onRestart: (event) => {
          if (event.afterMs !== null) {
            if (event.process === 'engine') metrics.engineRestarted(id);
            else metrics.preparationRestarted(id);
          }
          onRestart?.(event);
        },
        ...(onState && { onState }),
      });
  metrics.modelLoaded(id, (performance.now() - began) / 1000);
  return opened;
}

/** Memory of both processes of an engine. */
function measure({ processes, model }: Engine, estimatedBytes: number): number | null {
  if (processes === undefined) return null;
  const residentBytes = residentBytesOf(processes.engine);
  if (residentBytes === null) return null;
  return bytesTaken(residentBytes, estimatedBytes, model) + (residentBytesOf(processes.preparation) ?? 0);
}

/** Resident memory does not include GPU memory, so with GPUs the result is at least the estimate. */
export function bytesTaken(
  residentBytes: number,
  estimatedBytes: number,
  { placement }: Pick<Engine['model'], 'placement'>,
): number {
  return placement.devices.length === 0 ? residentBytes : Math.max(residentBytes, estimatedBytes);
}
