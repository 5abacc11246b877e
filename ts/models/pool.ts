/** The models of a server: which there are, in what state, and the engine of one for as long as a request needs it. */
import type { Engine, OnBehalf } from '../engine/engine.js';
import { ChasquiError, ERRORS } from '../errors.js';

export type ModelStatus = 'unloaded' | 'loading' | 'loaded' | 'failed';

export interface ModelEntry {
  /** The name that requests use. */
  readonly id: string;
  /** Other names that requests may use. */
  readonly aliases: readonly string[];
  /** Of an adapter, the model that it is loaded with, whose state it has; `null`: it is a model itself. */
  readonly parent: string | null;
  readonly status: ModelStatus;
  /** Unix seconds; when the model was loaded, or before that, when the server came to know it. */
  readonly created: number;
  /** How much of it is loaded, from 0 to 1; `null` unless it is being loaded, and while its engine is started again. */
  readonly progress: number | null;
  /** Bytes of its file; `null` if the file cannot be found. */
  readonly sizeBytes: number | null;
  /** Why it failed or is loaded again, without what only the log may say; else `null`. */
  readonly reason: string | null;
  /** What it takes, as measured; `null` unless it is loaded by a pool that measures. */
  readonly memoryBytes: number | null;
  /** The process of its engine; `null` where that is not known. */
  readonly pid: number | null;
  /** The process that prepares requests for it, likewise. */
  readonly preparationPid: number | null;
  /** How many requests use it. */
  readonly running: number;
  /** How many requests wait for it to be loaded. */
  readonly waiting: number;
  /** Unix seconds; when it is unloaded if nobody uses it before; `null`: not at all. */
  readonly expiresAt: number | null;
  /** Whether it stays, once it is loaded, until it is unloaded by name. */
  readonly pinned: boolean;
  /** For its counts and what is known of the model; whoever computes with it takes a lease. `null` unless it is loaded. */
  readonly engine: Engine | null;
}

/** What becomes of a model. */
export interface ModelEvent {
  readonly id: string;
  /** `removed`: it is no longer among the models. */
  readonly status: ModelStatus | 'removed';
  /** How much of it is loaded, from 0 to 1; `null` unless it is being loaded. */
  readonly progress: number | null;
  /** Why it failed or is loaded again, without what only the log may say; else `null`. */
  readonly reason: string | null;
}

export type ModelListener = (event: ModelEvent) => void;

/** While it is held, its model is not unloaded. */
export interface Lease {
  readonly engine: Engine;
  /** Safe to call any number of times. */
  release(): void;
}

export interface AcquireOptions extends OnBehalf {
  /** Told while the model is being loaded for this request: how much of it is, from 0 to 1. */
  onProgress?: ((fraction: number) => void) | undefined;
  /**
   * For how many milliseconds the model stays when nobody uses it, from now on until another request says something
   * else or it is unloaded; Infinity: for ever. Default: as it was.
   */
  keepMs?: number | undefined;
}

export interface LoadRequest {
  /** Whether it is pinned from now on; default: as it was. */
  pin?: boolean | undefined;
}

export interface UnloadRequest {
  /** Whether it is unloaded at once, and requests that use it end with `request_cancelled`; default false. */
  force?: boolean | undefined;
}

export interface ModelPool {
  /** Whether requests are taken: what is loaded at the start is loaded. */
  readonly isReady: boolean;
  /** All models in the same order each time. */
  list(): readonly ModelEntry[];
  /**
   * The engine of the model with this name, which may be absent where there is only one. Rejects with
   * `model_not_found`, with `model_loading`, `model_not_loaded`, `no_room_for_model` and `engine_failed` when no engine can
   * be had, and with `queue_full` when too many wait for it; or with the signal's reason.
   */
  acquire(name: string | undefined, on: AcquireOptions): Promise<Lease>;
  /** Calls `listener` with what becomes of the models from now on; the function that is returned ends that. */
  onEvent(listener: ModelListener): () => void;
  /** Has a model loaded, as soon as there is room for it. Throws `model_not_found`, or `model_loading` before the pool is ready. */
  load(id: string, request?: LoadRequest): void;
  /** Has a model unloaded, as soon as nobody uses it, unless it is forced. Throws `model_not_found`, and `unsupported_parameter` where it must stay. */
  unload(id: string, request?: UnloadRequest): void;
}

/** The model that a name means: an id before any other name. */
export function findEntry<Entry extends Pick<ModelEntry, 'id'> & Partial<Pick<ModelEntry, 'aliases'>>>(
  entries: readonly Entry[],
  name: string,
): Entry | undefined {
  return entries.find(({ id }) => id === name) ?? entries.find(({ aliases }) => aliases?.includes(name));
}

const MAX_SHOWN_LENGTH = 100;
const MAX_SHOWN_MODELS = 5;

/** `param` is the request field that the name came in. */
export function modelNotFound(name: string, entries: readonly ModelEntry[], param: string | null): ChasquiError {
  const shown = name.length > MAX_SHOWN_LENGTH ? `${name.slice(0, MAX_SHOWN_LENGTH)}…` : name;
  const ids = entries.slice(0, MAX_SHOWN_MODELS).map(({ id }) => `\`${id}\``);
  const more = entries.length > MAX_SHOWN_MODELS ? ' and others' : '';
  return new ChasquiError(
    'model_not_found',
    `The model \`${shown}\` is not served here; this server has ${ids.join(', ')}${more}.`,
    param,
  );
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
    `The model \`${id}\` does not fit beside the models that are pinned: unload one of them, or have it pinned no more.`,
    'model',
  );
}

/** For the requests that used it. */
export function unloadedByForce(id: string): ChasquiError {
  return new ChasquiError('request_cancelled', `The person who runs the server had the model \`${id}\` unloaded.`);
}

/** For everybody: the whole message may hold paths of this machine. */
export function reasonOf(error: unknown): string {
  const { meaning } = ERRORS[error instanceof ChasquiError ? error.code : 'internal_error'];
  return `${meaning} The server's log says more.`;
}
