/** `loadModel` as the users of the library call it. */
import { SupervisedEngine } from '../engine/child/supervised-engine.js';
import { type LoadHooks, type LoadOptions, splitHooks } from '../engine/load-options.js';
import { loadModel as loadHere, type Model } from '../engine/model.js';

export interface ProcessOptions {
  /**
   * Computes in a process of its own, which is started again when it ends: an error of the native code or of a driver
   * then costs the jobs that it was computing, and not this process. Default false.
   */
  process?: boolean;
}

/**
 * Loads a GGUF file and starts its engine.
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
  if (!ownProcess) return loadHere(path, given, givenHooks);
  const { options, hooks } = splitHooks(given, givenHooks);
  return SupervisedEngine.open(path, options, hooks);
}
