/** From the settings of a server to its models. */
import { readdirSync, realpathSync, statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { SupervisedEngine, type SupervisorHooks } from '../engine/child/supervised-engine.js';
import type { Engine } from '../engine/engine.js';
import { type LoadHooks, type LoadOptions, modelIdOf } from '../engine/load-options.js';
import { loadModel } from '../engine/model.js';
import { ChasquiError } from '../errors.js';
import type { Metrics } from '../metrics/metrics.js';
import { estimateMemory } from '../models/estimate-memory.js';
import { ManagedPool } from '../models/managed-pool.js';
import type { ManagedSource } from '../models/model-source.js';
import type { ModelPool } from '../models/pool.js';
import { SingleModel } from '../models/single-model.js';
import { readProcessUsage } from '../process/process-usage.js';

export interface ModelsSettings {
  /** Files of models, which are loaded at the start as far as they fit. */
  paths: readonly string[];
  /** A folder of others, which are loaded when they are needed. */
  folder?: string;
  /** What loaded models may take together; default: 80 % of what is free now. */
  budgetBytes?: number;
  /** Whether a request that names a model has it loaded; default true. */
  autoload?: boolean;
  /** How long a request waits for a model; default ten minutes. */
  loadTimeoutMs?: number;
  /** How long a model that nobody uses stays loaded; default 0, which is for ever. */
  ttlMs?: number;
  /** Told why one of several models could not be loaded. */
  onFailure?(id: string, error: unknown): void;
}

export interface EngineSettings extends Pick<SupervisorHooks, 'stepTimeoutMs' | 'coreDumps' | 'onRestart'> {
  /** Whether the engine computes in the server's own process, which then ends with it; default false. */
  inProcess?: boolean;
}

interface PoolSettings {
  models: ModelsSettings;
  model?: LoadOptions | undefined;
  engine?: EngineSettings | undefined;
}

export interface ServedModels {
  pool: ModelPool;
  /** Resolves when requests are taken; rejects with why the only model cannot be loaded. */
  start(onProgress: LoadHooks['onProgress']): Promise<void>;
  close(): Promise<void>;
}

const LOAD_TIMEOUT_MS = 600_000;
const DEFAULT_SHARE = 0.8;

/** @throws {ChasquiError} `invalid_options`: the settings do not fit together, or the folder has no models. */
export function openPool(settings: PoolSettings, metrics: Metrics, anyName: boolean): ServedModels {
  const { paths, folder } = settings.models;
  const [only] = paths;
  const isSingle = only !== undefined && paths.length === 1 && folder === undefined;
  if (isSingle && settings.engine?.inProcess) return openSingle(only, settings, metrics, anyName);
  return openSeveral(settings, metrics, anyName);
}

function openSingle(file: string, settings: PoolSettings, metrics: Metrics, anyName: boolean): ServedModels {
  const id = modelIdOf(file, settings.model ?? {});
  const open = (hooks: LoadHooks) => openEngine(id, file, settings, metrics, hooks);
  const pool = new SingleModel({ id, sizeBytes: sizeOf(file), open }, { anyName });
  return {
    pool,
    start: async (onProgress) => void (await pool.start({ onProgress })),
    close: () => pool.close(),
  };
}

function openSeveral(settings: PoolSettings, metrics: Metrics, anyName: boolean): ServedModels {
  const {
    paths,
    folder,
    budgetBytes,
    autoload = true,
    loadTimeoutMs = LOAD_TIMEOUT_MS,
    ttlMs = 0,
    onFailure,
  } = settings.models;
  refuseForSeveral(settings);
  const files = byFile([...paths, ...(folder === undefined ? [] : modelsIn(folder))], settings.model ?? {});
  const sources = files.map(({ file, names: [id, ...aliases] }) =>
    toSource({ id, aliases, file, model: settings.model, engine: settings.engine }, metrics),
  );
  const pool = new ManagedPool(sources, {
    budgetBytes: budgetBytes ?? DEFAULT_SHARE * freeBytes(),
    anyName,
    autoload,
    loadTimeoutMs,
    ttlMs,
    onFailure: onFailure ?? (() => {}),
  });
  const first = sources.slice(0, new Set(paths.map(realPath)).size).map(({ id }) => id);
  return { pool, start: (onProgress) => pool.start(first, onProgress), close: () => pool.close() };
}

export interface SourceSettings extends Omit<PoolSettings, 'models'> {
  id: string;
  aliases?: readonly string[];
  file: string;
}

/** What a pool needs to load the model in a file. */
export function toSource({ id, aliases = [], file, ...settings }: SourceSettings, metrics: Metrics): ManagedSource {
  const sizeBytes = sizeOf(file);
  return {
    id,
    aliases,
    sizeBytes,
    estimatedBytes: estimateMemory(file, sizeBytes ?? 0, settings.model ?? {}),
    open: async (hooks) => {
      const engine = await openEngine(id, file, settings, metrics, hooks);
      return { engine, measure: () => measure(engine) };
    },
  };
}

/** The options of one model cannot be those of all. */
function refuseForSeveral({ models, model = {}, engine = {} }: PoolSettings): void {
  if (engine.inProcess) {
    throw new ChasquiError('invalid_options', 'Several models compute in processes of their own: leave `engine` out.');
  }
  if (models.paths.length === 1 && models.folder === undefined) return;
  const name = (['alias', 'mmproj'] as const).find((each) => typeof model[each] === 'string');
  if (name !== undefined) throw new ChasquiError('invalid_options', `\`${name}\` is for a single model: leave it out.`);
}

/** Each file once, in order, with all names that it goes by. */
function byFile(paths: readonly string[], options: LoadOptions): { file: string; names: [string, ...string[]] }[] {
  const known = new Map<string, { file: string; names: [string, ...string[]] }>();
  for (const file of paths) {
    const name = modelIdOf(file, options);
    const same = known.get(realPath(file));
    if (same === undefined) known.set(realPath(file), { file, names: [name] });
    else if (!same.names.includes(name)) same.names.push(name);
  }
  return [...known.values()];
}

/** A projector is loaded with its model, and so are the later parts of a model in parts. */
const NO_MODEL = /^mmproj|[.-]mmproj\.gguf$|-(?!00001)\d{5}-of-\d{5}\.gguf$/i;

function modelsIn(folder: string): string[] {
  let names: string[];
  try {
    names = readdirSync(folder).filter((name) => /\.gguf$/i.test(name) && !NO_MODEL.test(name));
  } catch (error) {
    throw new ChasquiError('invalid_options', `\`modelsDir\` cannot be read: ${(error as Error).message}.`);
  }
  if (names.length > 0) return names.sort().map((name) => path.join(folder, name));
  throw new ChasquiError('invalid_options', `\`modelsDir\` is ${folder}, which has no file that ends in .gguf.`);
}

async function openEngine(
  id: string,
  file: string,
  { model = {}, engine = {} }: Omit<PoolSettings, 'models'>,
  metrics: Metrics,
  hooks: LoadHooks,
): Promise<Engine> {
  const { inProcess = false, onRestart, ...supervision } = engine;
  const began = performance.now();
  const opened = inProcess
    ? await loadModel(file, model, hooks)
    : await SupervisedEngine.open(file, model, {
        ...hooks,
        ...supervision,
        onRestart: (event) => {
          if (event.afterMs !== null) metrics.engineRestarted(id);
          onRestart?.(event);
        },
      });
  metrics.modelLoaded(id, (performance.now() - began) / 1000);
  return opened;
}

async function measure(engine: Engine): Promise<{ bytes: number | null; pid: number | null }> {
  const pid = engine instanceof SupervisedEngine ? await engine.pid() : undefined;
  return pid === undefined ? { bytes: null, pid: null } : { bytes: readProcessUsage(pid)?.residentBytes ?? null, pid };
}

function sizeOf(file: string): number | null {
  return statSync(file, { throwIfNoEntry: false })?.size ?? null;
}

/** A path that leads nowhere is left as it is: its load says so. */
function realPath(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return path.resolve(file);
  }
}

/** In a container, what it may still take. */
export function freeBytes(): number {
  const { availableMemory } = process as { availableMemory?: () => number };
  return availableMemory?.() ?? os.freemem();
}
