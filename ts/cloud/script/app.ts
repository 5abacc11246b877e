/**
 * What a deployment script says about an app. It is data: a script is evaluated once, on the machine that deploys, and
 * what it exports is sent to the cloud as JSON.
 */
import type { LoadOptions } from '../../engine/load-options.js';

/** A number with its unit: `500ms`, `30s`, `5m`, `1h`. */
export type Duration = `${number}${'ms' | 's' | 'm' | 'h'}`;
/** A number with its unit, of which each is 1024 times the one before: `512Mi`, `8Gi`. */
export type Size = `${number}${'Ki' | 'Mi' | 'Gi' | 'Ti'}`;

/** Options of `loadModel` that have other names here, or that make no sense for an app. */
type Renamed =
  | ('contextSize' | 'parallel' | 'mmproj' | 'draftModel' | 'lora' | 'imageHosts' | 'verbose')
  | ('cacheDiskMiB' | 'cacheFolder');

/** An adapter (LoRA) with how strongly it works where a request does not say; 1 is as it was trained. */
export interface AdapterOptions {
  /** Given like `model`. */
  file: string;
  scale?: number;
}

/** How a model is loaded. What the options of `loadModel` mean is said in its own table. */
interface ModelSettings extends Omit<LoadOptions, Renamed> {
  /** Tokens that one conversation can hold, its completion included. */
  context?: number;
  /** Completions that a runner computes at the same time; default 4. */
  slots?: number;
  /** A file beside the script with the model's chat template, of which the text is deployed as `chatTemplate`. */
  chatTemplateFile?: string;
}

/** A model of an app. All but `model` can be left out. */
export interface AppModel extends ModelSettings {
  /**
   * The model: `demo` for the one in the package, `hf:org/repo:Q4_K_M` for one on a hub, `https://….gguf` for a file on
   * a server, `file:./model.gguf` for one beside the script.
   */
  model: string;
  /** The vision projector, given like `model`. */
  mmproj?: string;
  /** A small model with the same vocabulary to draft with, given like `model`. */
  draftModel?: string;
  /** Adapters by their names, each given like `model`: requests choose one as the model `model:name`. */
  adapters?: { readonly [name: string]: string | AdapterOptions };
}

/** What a runner needs of its machine. */
export interface MachineOptions {
  /** Main memory; default: what the files and contexts of its models are estimated to take. */
  memory?: Size;
  /** Processor threads to compute with; default: one per physical core. */
  cpu?: number;
  /** How many GPUs to compute on; 0: none. Default: all there are. */
  gpu?: number;
}

/** What is said of an app beside its models. */
interface AppSettings {
  /** `private`: only with an API key of the organisation. Default. `public`: for everybody who can reach the address. */
  auth?: 'private' | 'public';
  /** Names of secrets that runners find in their environment; `chasqui secrets set` stores them. */
  secrets?: readonly string[];
  machine?: MachineOptions;
  /** How many runners there are. */
  scale?: {
    /** Runners that are there also when nobody calls; default 0. */
    min?: number;
    /** Runners that are there at most; default 1. */
    max?: number;
    /** How long a runner that is not needed stays; default `5m`. */
    keepAlive?: Duration;
    /** Runners on top of what the requests of the moment need; default 0. */
    buffer?: number;
    /** How long more must be needed before a runner is added to those there are; default `0s`. */
    delay?: Duration;
  };
  /** How long things may take. */
  timeouts?: {
    /** From a request's arrival until a runner takes it, and for the start of a runner; default `10m`. */
    start?: Duration;
    /** A request, from when a runner has it; default `1h`. */
    request?: Duration;
    /** Requests that are running when their runner has to go; default `5m`. */
    drain?: Duration;
  };
}

/**
 * An app has one model, or several in each of its runners: requests name the one that they are for. What stands beside
 * `models` holds for those that do not say otherwise.
 */
export type AppOptions = AppSettings & (AppModel | (Omit<ModelSettings, 'alias'> & { models: readonly AppModel[] }));

/** By this, exports of a script that are apps are told from others, whichever copy of this module the script imports. */
export const APP = Symbol.for('chasqui.app');

/** What `app` returns. */
export interface App {
  readonly [APP]: AppOptions;
}

/** Describes an app. It is checked, and deployed, by `chasqui run` and `chasqui deploy`. */
export function app(options: AppOptions): App {
  return { [APP]: options };
}
