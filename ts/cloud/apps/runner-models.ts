/** From what a script says of its models, and the files that were fetched for it, to what a runner loads. */
import type { LoadOptions } from '../../engine/load-options.js';
import { sizeOfModel } from '../../engine/model-files.js';
import { estimateMemory } from '../../models/estimate-memory.js';
import type { RunnerModelFile } from '../runners/protocol.js';
import { type Manifest, modelsIn } from '../script/manifest.js';
import type { ModelManifest } from '../script/model-manifest.js';
import type { ModelWeights, Weights } from './weights.js';

/** All models of an app, in their order. */
export function runnerModels(manifest: Manifest, weights: Weights): RunnerModelFile[] {
  return modelsIn(manifest).map((model, index) => {
    const files = weights[index] as ModelWeights;
    return { modelPath: files.model, options: loadOptionsOf(model, files) };
  });
}

/** What a runner will take: what its models will, as each is computed by a process of its own. */
export function estimateRunner(manifest: Manifest, weights: Weights): number {
  const bytes = runnerModels(manifest, weights).map(({ modelPath, options }) => {
    const others = [options.mmproj, options.draftModel].map((file) => (file ? sizeOf(file) : 0));
    return estimateMemory(modelPath, sizeOf(modelPath), options) + others.reduce((sum, size) => sum + size, 0);
  });
  return bytes.reduce((sum, each) => sum + each, 0);
}

/** As many digits as the option for adapters takes. */
const SCALE_DIGITS = 6;

function loadOptionsOf({ options, adapters }: ModelManifest, files: ModelWeights): LoadOptions {
  const { mmproj, draftModel } = files;
  const lora = adapters.map(({ name, scale }, at) => `${name}=${files.adapters[at]}:${scale.toFixed(SCALE_DIGITS)}`);
  return {
    ...options,
    ...(mmproj !== null && { mmproj }),
    ...(draftModel !== null && { draftModel }),
    ...(lora.length > 0 && { lora }),
  };
}

/** Of all its files. One that is missing is its load's to report. */
function sizeOf(file: string): number {
  return sizeOfModel(file) ?? 0;
}
