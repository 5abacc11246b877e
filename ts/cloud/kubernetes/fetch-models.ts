/** The init container of a pod: fetches the model files. */

import { refuseTooLittleMemory, runnerModels } from '../apps/runner-memory.js';
import type { WeightStore } from '../apps/weights.js';
import type { RunnerModelFile } from '../runners/protocol.js';
import type { Json } from '../script/canonical-json.js';
import { type Manifest, modelsIn, toManifest } from '../script/manifest.js';

export interface ModelFetcher {
  weights: WeightStore;
  projectorOf(modelPath: string): Promise<string | null>;
}

/**
 * `options`: of the script; `name`: of the app, for messages. `onProgress` gets for example `fetching weights 2 of 3,`
 * and a fraction from 0 to 1.
 *
 * @throws {ChasquiError} `script_invalid`, `model_fetch_failed` and others
 */
export async function fetchModels(
  options: Json,
  name: string,
  fetcher: ModelFetcher,
  onProgress: (what: string, fraction: number) => void,
): Promise<RunnerModelFile[]> {
  const manifest = toManifest(options, name);
  const checkSize = (bytes: number) => refuseTooLittleMemory(manifest, bytes, name);
  const weights = await fetcher.weights.fetch(manifest, {}, null, { onProgress, checkSize });
  return withProjectors(manifest, runnerModels(manifest, weights), fetcher);
}

/** Sets the projector of each model explicitly, because several hub models may share a folder. */
function withProjectors(
  manifest: Manifest,
  models: readonly RunnerModelFile[],
  { projectorOf }: ModelFetcher,
): Promise<RunnerModelFile[]> {
  const given = modelsIn(manifest);
  return Promise.all(
    models.map(async (each, index) => {
      const isOfHub = given[index]?.model.kind === 'hub' && given[index]?.mmproj === null;
      if (!isOfHub) return each;
      return { ...each, options: { ...each.options, mmproj: await projectorOf(each.modelPath) } };
    }),
  );
}
