/** The models of a server: their states, and leases of their engines. */
import type { AbortOptions, Engine, ModelInfo } from '../engine/engine.js';
import { ChasquiError, ERRORS } from '../errors.js';

export type ModelStatus = 'unloaded' | 'loading' | 'loaded' | 'failed';

export interface ModelEntry {
  readonly id: string;
  /** Other names. */
  readonly aliases: readonly string[];
  /** Absent if it has none. */
  readonly tags?: readonly string[];
  /** The base model of an adapter, which shares its state; `null`: no adapter. */
  readonly parent: string | null;
  readonly status: ModelStatus;
  /** Unix seconds: when its file was modified; of an engine without a file, when it was loaded. */
  readonly created: number;
  /** From 0 to 1; `null` unless it is being loaded for the first time. */
  readonly progress: number | null;
  /** Of its files, in bytes; `null` if they cannot be found. */
  readonly sizeBytes: number | null;
  /** Why it failed or is loaded again, in words that clients may read; else `null`. */
  readonly reason: string | null;
  /** Measured memory in bytes; `null` unless it is loaded by a pool that measures. */
  readonly memoryBytes: number | null;
  /** Process id of the worker; `null`: unknown. */
  readonly pid: number | null;
  /** Process id of the preparation process; `null`: unknown. */
  readonly preparationPid: number | null;
  readonly running: number;
  /** Requests that wait for its load. */
  readonly waiting: number;
  /** Unix seconds: when it is unloaded if it stays idle; `null`: never. */
  readonly expiresAt: number | null;
  /** Once loaded, it stays until it is unloaded by name. */
  readonly pinned: boolean;
  /** For statistics and model information; to compute, take a lease. `null` unless it is loaded. */
  readonly engine: Engine | null;
  /** The model as it was when it was loaded last; `null` if it never was. */
  readonly lastModel: ModelInfo | null;
}

export interface ModelEvent {
  readonly id: string;
  /** `removed`: the server does not have it any more. */
  readonly status: ModelStatus | 'removed';
  /** From 0 to 1; `null` unless it is being loaded. */
  readonly progress: number | null;
  /** Why it failed or is loaded again, in words that clients may read; else `null`. */
  readonly reason: string | null;
}

export type ModelListener = (event: ModelEvent) => void;

/** Protects the model from being unloaded. */
export interface Lease {
  readonly engine: Engine;
  /** Idempotent. */
  release(): void;
}

export interface AcquireOptions extends AbortOptions {
  /** Progress of the load, from 0 to 1. */
  onProgress?: ((fraction: number) => void) | undefined;
  /**
   * New idle time, in milliseconds, before the model is unloaded, until another request sets one; Infinity: never. Default:
   * unchanged.
   */
  keepMs?: number | undefined;
}

export interface LoadRequest {
  /** Default: unchanged. */
  pin?: boolean | undefined;
}

export interface UnloadRequest {
  /** Unload at once; requests that use it end with `request_cancelled`. Default false. */
  force?: boolean | undefined;
}

export interface Naming {
  /** Unknown names mean the first loaded model, or else the first; default false. */
  anyName?: boolean;
}

export interface ModelPool {
  /** Whether the models that are loaded at the start are loaded. */
  readonly isReady: boolean;
  /** All models, in a stable order. */
  list(): readonly ModelEntry[];
  /**
   * Leases the engine of a model; `name` is optional if there is only one. Rejects with `model_not_found`, `model_loading`,
   * `model_not_loaded`, `no_room_for_model`, `engine_failed`, `queue_full`, or the signal's reason.
   */
  acquire(name: string | undefined, on: AcquireOptions): Promise<Lease>;
  /** Calls `listener` with all further events. Returns a function that removes it. */
  onEvent(listener: ModelListener): () => void;
  /** Loads a model as soon as memory is free. Throws `model_not_found`, or `model_loading` before the pool is ready. */
  load(id: string, request?: LoadRequest): void;
  /** Unloads a model as soon as it is idle. Throws `model_not_found`, and `unsupported_parameter` if it cannot be unloaded. */
  unload(id: string, request?: UnloadRequest): void;
}

/** The tag of names without one in Ollama's lists. Its clients send these names to all endpoints. */
const DEFAULT_TAG = ':latest';

export function withTag(name: string): string {
  return name.includes(':') ? name : name + DEFAULT_TAG;
}

/** Finds a model by its id, or else by another name, or else by its name with the default tag. */
export function findEntry<Entry extends Pick<ModelEntry, 'id'> & Partial<Pick<ModelEntry, 'aliases'>>>(
  entries: readonly Entry[],
  name: string,
): Entry | undefined {
  const find = (wanted: string): Entry | undefined =>
    entries.find(({ id }) => id === wanted) ?? entries.find(({ aliases }) => aliases?.includes(wanted));
  return find(name) ?? (name.endsWith(DEFAULT_TAG) ? find(name.slice(0, -DEFAULT_TAG.length)) : undefined);
}

const MAX_SHOWN_LENGTH = 100;
const MAX_SHOWN_MODELS = 5;

/** `param`: the request field with the name. */
export function modelNotFound(name: string, entries: readonly ModelEntry[], param: string | null): ChasquiError {
  const shown = name.length > MAX_SHOWN_LENGTH ? `${name.slice(0, MAX_SHOWN_LENGTH)}…` : name;
  const ids = entries.slice(0, MAX_SHOWN_MODELS).map(({ id }) => `\`${id}\``);
  if (ids.length === 0) ids.push('no models yet');
  const more = entries.length > MAX_SHOWN_MODELS ? ' and others' : '';
  return new ChasquiError(
    'model_not_found',
    `The model \`${shown}\` is not served here; this server has ${ids.join(', ')}${more}.`,
    param,
  );
}

/** `id`: default any model. */
export function modelNotLoaded(id?: string): ChasquiError {
  const subject = id === undefined ? 'No model is loaded: load one' : `The model \`${id}\` is not loaded: load it`;
  return new ChasquiError('model_not_loaded', `${subject} with \`chasqui load\`.`, 'model');
}

export function modelLoading({ id, progress }: ModelEntry): ChasquiError {
  const percent = Math.floor((progress ?? 0) * 100);
  return new ChasquiError(
    'model_loading',
    `The model \`${id}\` is being loaded, ${percent} % so far: try again in a moment.`,
  );
}

export function modelFailed({ id, reason }: ModelEntry): ChasquiError {
  return new ChasquiError('engine_failed', `The model \`${id}\` could not be loaded. ${reason}`);
}

export function noRoomForModel(id: string): ChasquiError {
  return new ChasquiError(
    'no_room_for_model',
    `The model \`${id}\` does not fit beside the models that are pinned: unload or unpin one of them.`,
    'model',
  );
}

/** For the requests that still use an engine which is started again. */
export function givenUp(id: string): ChasquiError {
  return new ChasquiError('engine_failed', `The engine of the model \`${id}\` was given up. It is started again.`);
}

/** For the requests that used it. */
export function unloadedByForce(id: string): ChasquiError {
  return new ChasquiError('request_cancelled', `The operator of the server unloaded the model \`${id}\`.`);
}

/** Without the error's own message, which may contain paths. */
export function reasonOf(error: unknown): string {
  const { meaning } = ERRORS[error instanceof ChasquiError ? error.code : 'internal_error'];
  return `${meaning} See the server's log.`;
}
