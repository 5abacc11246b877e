/** Which devices a model is put on, and how much of it. */
import { ChasquiError } from '../errors.js';
import type { NativeOffload, OpenRequest } from '../native/addon.js';
import { loadAddon } from '../native/load-addon.js';
import { runFit } from '../native/run-fit.js';
import { type CompleteLoadOptions, completeLoadOptions, type LoadOptions } from './load-options.js';

type PlacementOptions = Pick<CompleteLoadOptions, 'device' | 'gpuLayers' | 'splitMode' | 'mainGpu' | 'tensorSplit'>;

/** @throws {ChasquiError} `invalid_options`; whether the devices are there is known only when modules are loaded. */
export function toNativeOffload(options: PlacementOptions): NativeOffload {
  const { device, gpuLayers, splitMode, mainGpu, tensorSplit } = options;
  return {
    devices: readDevices(device),
    gpuLayers: typeof gpuLayers === 'number' ? gpuLayers : null,
    splitMode,
    mainGpu: mainGpu ?? null,
    tensorSplit: tensorSplit ?? [],
    overrides: [],
  };
}

function readDevices(device: LoadOptions['device']): readonly string[] | null {
  if (device === undefined) return null;
  const names = typeof device === 'string' ? device.split(',') : device;
  if (!names.includes('none')) return names;
  if (names.length === 1) return [];
  throw new ChasquiError('invalid_options', `\`device\` is ${names.join(',')}, but \`none\` must stand alone.`);
}

export interface ChosenOffload {
  offload: NativeOffload;
  /** What was done instead, and why, when it is not known how many layers fit. */
  unfitted?: string;
}

const KEPT_OFF = 'No layer is put on the GPU unless `gpuLayers` says so, for setting them up there failed';

/**
 * Works out how many layers fit, unless there is no GPU. None do when that ends the process it is worked out in: it would
 * end the one that loads the model, too. A number that is given is tried in the same way, and otherwise taken as it is.
 * @throws {ChasquiError} `model_load_failed`: the given number ended that process.
 */
export async function chooseOffload(
  request: OpenRequest,
  options: LoadOptions,
  signal?: AbortSignal,
): Promise<ChosenOffload> {
  const { gpuLayers, fitTargetMiB } = completeLoadOptions(options);
  const { offload } = request.options;
  // The last module is the CPU's.
  const mayUseGpu = request.modules.length > 1 && offload.devices?.length !== 0;
  if (!mayUseGpu || gpuLayers === 0) return { offload };
  const task = { request: { ...request, verbose: false }, spareBytes: fitTargetMiB * 2 ** 20 };
  const fitted = await runFit(loadAddon().path, task, { signal });
  signal?.throwIfAborted();
  if (gpuLayers !== 'auto') {
    if (fitted.ended === 'crashed') throw tooMany(gpuLayers, fitted.reason);
    return { offload };
  }
  if (fitted.reason === undefined) return fitted;
  const { reason, ended } = fitted;
  if (ended) return { offload: { ...offload, gpuLayers: 0 }, unfitted: `${KEPT_OFF}: ${reason}` };
  return { offload, unfitted: `All layers are put on the GPU, for it is not known how many fit: ${reason}` };
}

function tooMany(layers: number | 'all', reason: string): ChasquiError {
  const advice = 'Ask for fewer with `gpuLayers`, or leave it out for as many as fit.';
  return new ChasquiError('model_load_failed', `Setting up ${layers} layers on the GPU failed: ${reason}. ${advice}`);
}
