/** What the first container of a pod does: brings the files of the app's models, before the runner is started. */

import { refuseTooLittleMemory, runnerModels } from '../apps/runner-memory.js';
import type { WeightStore } from '../apps/weights.js';
import type { RunnerModelFile } from '../runners/protocol.js';
import type { Json } from '../script/canonical-json.js';
import { type Manifest, modelsIn, toManifest } from '../script/manifest.js';

export interface ModelFetcher {
  weights: WeightStore;
  /** The projector of a model of the hub that is on this computer; null: it has none. */
  projectorOf(modelPath: string): Promise<string | null>;
}

/**
 * `options`: the app's, as its script says them; `name`: what messages call the app. `onProgress` is told what is done,
 * such as `fetching weights 2 of 3,`, and how much of it, from 0 to 1.
 * @throws {ChasquiError} `script_invalid`, `model_fetch_failed` and what else is against it
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

/** Several models of a hub may lie in the same folder of its cache, so it is said whose projector is whose. */
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
