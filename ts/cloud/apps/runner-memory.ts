/** The models of a runner and the memory they need. */
import type { LoadOptions } from '../../engine/load-options.js';
import { sizeOfModel } from '../../engine/model-files.js';
import { formatMemory } from '../../hub/format-bytes.js';
import { estimateMemory, MODEL_PROCESSES_BYTES } from '../../models/estimate-memory.js';
import { LOAD_OPTIONS } from '../../options/load-option-table.js';
import { limitsOf } from '../runners/container-arguments.js';
import type { RunnerModelFile } from '../runners/protocol.js';
import { invalid } from '../script/explain.js';
import { filesIn, type Manifest, modelsIn } from '../script/manifest.js';
import type { ModelManifest } from '../script/model-manifest.js';
import type { ModelWeights, Weights } from './weights.js';

const MIB = 2 ** 20;
/** Decimals of an adapter's scale in the option `lora`. */
const SCALE_DIGITS = 6;

/** Without the option, the models share half of the memory that remains for the cache, at most the default each. */
export function runnerModels(manifest: Manifest, weights: Weights): RunnerModelFile[] {
  const models = filesOf(manifest, weights);
  const used = (manifest.gpus ?? 0) > 0 ? models.length * MODEL_PROCESSES_BYTES : estimateRunner(manifest, weights);
  const { memoryBytes } = limitsOf(manifest, used);
  const share = Math.floor(Math.max(0, memoryBytes - used) / 2 / models.length / MIB);
  const cacheRamMiB = Math.min(share, LOAD_OPTIONS.cacheRamMiB.default);
  return models.map(({ modelPath, options }) => ({ modelPath, options: { cacheRamMiB, ...options } }));
}

function filesOf(manifest: Manifest, weights: Weights): RunnerModelFile[] {
  return modelsIn(manifest).map((model, index) => {
    const files = weights[index] as ModelWeights;
    return { modelPath: files.model, options: loadOptionsOf(model, files) };
  });
}

/** Memory of a runner: the sum over its models, because each one has its own process. */
export function estimateRunner(manifest: Manifest, weights: Weights): number {
  const bytes = filesOf(manifest, weights).map(({ modelPath, options }) => {
    const others = [options.mmproj, options.draftModel].map((file) => (file ? sizeOf(file) : 0));
    return estimateMemory(modelPath, sizeOf(modelPath), options) + others.reduce((sum, size) => sum + size, 0);
  });
  return bytes.reduce((sum, each) => sum + each, cacheBytes(manifest));
}

/** Memory of the caches that the script requests. */
function cacheBytes(manifest: Manifest): number {
  const sizes = modelsIn(manifest).flatMap(({ options }) => [options.cacheRamMiB ?? 0, options.imageCacheMiB ?? 0]);
  return sizes.reduce((sum, size) => sum + size, 0) * MIB;
}

/**
 * Refuses a manifest with a memory limit below the known total size of its files (`fileBytes`). With GPUs nothing is
 * refused, because the weights may go to GPU memory.
 *
 * @throws {ChasquiError} `script_invalid`
 */
export function refuseTooLittleMemory(
  { memoryBytes, gpus }: Pick<Manifest, 'memoryBytes' | 'gpus'>,
  fileBytes: number,
  name: string,
): void {
  if (memoryBytes === null || (gpus ?? 0) > 0 || fileBytes <= memoryBytes) return;
  throw invalid(
    name,
    'machine.memory',
    `is ${Math.floor(memoryBytes / MIB)} MiB, but the model files have ${Math.ceil(fileBytes / MIB)} MiB. Increase it, ` +
      'including memory for contexts, or omit it to use an estimate. Smaller quantisations need less, and GPUs ' +
      '(`machine.gpu`) have their own memory',
  );
}

/**
 * Refuses a memory limit that cannot hold the processes and the caches of the models, or more GPUs than the machine has.
 *
 * @throws {ChasquiError} `script_invalid`
 */
export function refuseImpossibleMachine(manifest: Manifest, gpus: number | null, name: string): void {
  const { memoryBytes, gpus: wanted } = manifest;
  if (gpus !== null && (wanted ?? 0) > gpus) {
    throw invalid(name, 'machine.gpu', `is ${wanted}, but this machine has ${gpus === 0 ? 'no GPU' : `${gpus} GPUs`}`);
  }
  const needed = modelsIn(manifest).length * MODEL_PROCESSES_BYTES + cacheBytes(manifest);
  if (memoryBytes !== null && memoryBytes < needed) {
    throw invalid(
      name,
      'machine.memory',
      `is ${formatMemory(memoryBytes)}, but must be at least ${formatMemory(needed)}`,
    );
  }
}

/**
 * Refuses a memory limit below the estimate for models and contexts.
 *
 * @throws {ChasquiError} `script_invalid`
 */
export function refuseTooSmallFit({ memoryBytes, gpus }: Manifest, estimate: number, name: string): void {
  if (memoryBytes === null || (gpus ?? 0) > 0 || memoryBytes >= estimate) return;
  const [given, needed] = [formatMemory(memoryBytes), formatMemory(estimate)];
  throw invalid(name, 'machine.memory', `is ${given}, but models and contexts need about ${needed}`);
}

/** Total size of the files given by path, each counted once. `sizeOf` returns 0 for unknown files. */
export function givenFileBytes(manifest: Manifest, sizeOf: (path: string) => number): number {
  const paths = filesIn(manifest).flatMap((file) => (file.kind === 'file' ? [file.path] : []));
  return [...new Set(paths)].reduce((sum, path) => sum + sizeOf(path), 0);
}

/** Checks files on this machine before they are read or uploaded. */
export function checkLocalFiles(manifest: Manifest, name: string): void {
  const bytes = givenFileBytes(manifest, (path) => sizeOfModel(path) ?? 0);
  refuseTooLittleMemory(manifest, bytes, name);
}

/** Without `maxQueue`: requests wait in the gateway. */
function loadOptionsOf({ options: given, adapters }: ModelManifest, files: ModelWeights): LoadOptions {
  const { maxQueue, ...options } = given;
  const { mmproj, draftModel } = files;
  const lora = adapters.map(({ name, scale }, at) => `${name}=${files.adapters[at]}:${scale.toFixed(SCALE_DIGITS)}`);
  return {
    ...options,
    ...(mmproj !== null && { mmproj }),
    ...(draftModel !== null && { draftModel }),
    ...(lora.length > 0 && { lora }),
  };
}

/** Returns 0 for a missing file, which its load reports. */
function sizeOf(file: string): number {
  return sizeOfModel(file) ?? 0;
}
