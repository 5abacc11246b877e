/**
 * The options of a deployment script. They are plain data: the script runs once, on the machine that deploys, and its
 * exports are sent to the cloud as JSON.
 */
import type { LoadOptions } from '../../engine/load-options.js';

/** For example `500ms`, `30s`, `5m` or `1h`. */
export type Duration = `${number}${'ms' | 's' | 'm' | 'h'}`;
/** For example `512Mi` or `8Gi`; each unit is 1024 times the previous one. */
export type Size = `${number}${'Ki' | 'Mi' | 'Gi' | 'Ti'}`;

/** Options of `loadModel` that have another name here or do not apply to apps. */
type Renamed =
  | ('contextSize' | 'parallel' | 'mmproj' | 'draftModel' | 'lora' | 'imageHosts' | 'verbose')
  | ('cacheDiskMiB' | 'cacheFolder');

/** A LoRA adapter and its default scale. */
export interface AdapterOptions {
  /** Same format as `model`. */
  file: string;
  scale?: number;
}

/** Load options; `loadModel` documents the others. */
interface ModelSettings extends Omit<LoadOptions, Renamed> {
  /** Context length per conversation in tokens, including the completion. */
  context?: number;
  /** Concurrent completions per runner; default 4. */
  slots?: number;
  /** A chat template file relative to the script. Its text is deployed as `chatTemplate`. */
  chatTemplateFile?: string;
}

/** A model of an app. Only `model` is required. */
export interface AppModel extends ModelSettings {
  /**
   * `demo`: the built-in model; `hf:org/repo:Q4_K_M`: a model of a hub; `https://….gguf`: a URL; `file:./model.gguf`: a
   * file relative to the script.
   */
  model: string;
  /** The vision projector; same format as `model`. */
  mmproj?: string;
  /** A small draft model with the same vocabulary; same format as `model`. */
  draftModel?: string;
  /** LoRA adapters by name, in the format of `model`. Requests select one as `model:name`. */
  adapters?: { readonly [name: string]: string | AdapterOptions };
}

/** Resources of a runner. */
export interface MachineOptions {
  /** Main memory; default: an estimate for the model files and contexts. */
  memory?: Size;
  /** CPU threads; default: one per physical core. */
  cpu?: number;
  /** Number of GPUs for each runner alone; 0: none; default: shares those that no runner has for itself. */
  gpu?: number;
}

/** Options of an app besides its models. */
interface AppSettings {
  /** `private` (default): requires an API key of the organisation. `public`: no key. */
  auth?: 'private' | 'public';
  /** Also accepts keys as `Authorization: Bearer`, for clients that cannot send `Key`; default false. */
  bearer?: boolean;
  /** Names of secrets that runners get as environment variables; set them with `chasqui secrets set`. */
  secrets?: readonly string[];
  machine?: MachineOptions;
  scale?: {
    /** Minimum number of runners, also without requests; default 0. */
    min?: number;
    /** Maximum number of runners; default 1. */
    max?: number;
    /** How long an idle runner stays; default `5m`. */
    keepAlive?: Duration;
    /** Spare runners beyond the current demand; default 0. */
    buffer?: number;
    /** How long demand must exceed capacity before a runner is added; default `0s`. */
    delay?: Duration;
  };
  /** Time limits. */
  timeouts?: {
    /** For the wait of a request and for the start of a runner; default `10m`. */
    start?: Duration;
    /** For a request at a runner; default `1h`. */
    request?: Duration;
    /** For running requests when their runner stops; default `5m`. */
    drain?: Duration;
  };
}

/**
 * An app with one model, or with several `models` in each runner. Options beside `models` are defaults for all of them.
 */
export type AppOptions = AppSettings & (AppModel | (Omit<ModelSettings, 'alias'> & { models: readonly AppModel[] }));

/** Marks exported apps. A global symbol, so it works with any copy of this module. */
export const APP = Symbol.for('chasqui.app');

export interface App {
  readonly [APP]: AppOptions;
}

/** Describes an app for `chasqui run` and `chasqui deploy`. */
export function app(options: AppOptions): App {
  return { [APP]: options };
}
