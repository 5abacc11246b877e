/** Public `loadModel`. */
import { SupervisedEngine } from '../engine/child/supervised-engine.js';
import { type LoadHooks, type LoadOptions, splitHooks } from '../engine/load-options.js';
import { loadModel as loadHere, type Model } from '../engine/model.js';
import { resolveModel } from './resolve-model.js';

export interface ProcessOptions {
  /**
   * Runs the model in a child process that is restarted when it ends. A crash in native code or in a driver then fails only
   * the running jobs. Default false.
   */
  process?: boolean;
}

/**
 * Loads a model and starts an engine. `model` is the path of a GGUF file, or another name that `resolveModel` takes, such as
 * `demo` or `hf:user/repo:Q4_K_M`. To show the progress of a download, call `resolveModel` first.
 * @throws {ChasquiError} `model_file_missing`, `model_file_invalid`, `model_load_failed`, `invalid_options`,
 * `out_of_memory`, `addon_missing`, `backend_unavailable`; or the signal's reason.
 */
export function loadModel(
  model: string | URL,
  options: LoadOptions & LoadHooks & { process: true },
  hooks?: LoadHooks,
): Promise<SupervisedEngine>;
export function loadModel(
  model: string | URL,
  options?: LoadOptions & LoadHooks & { process?: false },
  hooks?: LoadHooks,
): Promise<Model>;
export async function loadModel(
  model: string | URL,
  { process: ownProcess = false, ...given }: LoadOptions & LoadHooks & ProcessOptions = {},
  givenHooks: LoadHooks = {},
): Promise<Model | SupervisedEngine> {
  const { options: own, hooks } = splitHooks(given, givenHooks);
  const { path, ...found } = await resolveModel(model, { signal: hooks.signal });
  const options = { ...found, ...own };
  const guarded = abortOnException(hooks);
  return ownProcess ? SupervisedEngine.open(path, options, guarded) : loadHere(path, options, guarded);
}

function abortOnException({ onProgress, signal }: LoadHooks): LoadHooks {
  if (onProgress === undefined) return { signal };
  const failure = new AbortController();
  return {
    signal: signal ? AbortSignal.any([signal, failure.signal]) : failure.signal,
    onProgress: (fraction) => {
      try {
        if (!failure.signal.aborted) onProgress(fraction);
      } catch (thrown) {
        failure.abort(thrown);
      }
    },
  };
}
