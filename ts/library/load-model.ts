/** Public `loadModel`. */
import { SupervisedEngine } from '../engine/child/supervised-engine.js';
import { type LoadHooks, type LoadOptions, splitHooks } from '../engine/load-options.js';
import { loadModel as loadHere, type Model } from '../engine/model.js';

export interface ProcessOptions {
  /**
   * Runs the model in a child process that is restarted when it ends. A crash in native code or in a driver then fails only
   * the running jobs. Default false.
   */
  process?: boolean;
}

/**
 * Loads a GGUF file and starts an engine.
 * @throws {ChasquiError} `model_file_missing`, `model_file_invalid`, `model_load_failed`, `invalid_options`,
 * `out_of_memory`, `addon_missing`, `backend_unavailable`; or the signal's reason.
 */
export function loadModel(
  path: string,
  options: LoadOptions & LoadHooks & { process: true },
  hooks?: LoadHooks,
): Promise<SupervisedEngine>;
export function loadModel(
  path: string,
  options?: LoadOptions & LoadHooks & { process?: false },
  hooks?: LoadHooks,
): Promise<Model>;
export async function loadModel(
  path: string,
  { process: ownProcess = false, ...given }: LoadOptions & LoadHooks & ProcessOptions = {},
  givenHooks: LoadHooks = {},
): Promise<Model | SupervisedEngine> {
  const { options, hooks } = splitHooks(given, givenHooks);
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
