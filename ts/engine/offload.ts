/** Chooses the devices of a model, and the number of layers on them. */
import { ChasquiError } from '../errors.js';
import { loadAddon } from '../native/load-addon.js';
import type { NativeOffload, OpenRequest } from '../native/native-options.js';
import { runFit } from '../native/run-fit.js';
import { type CompleteLoadOptions, completeLoadOptions, type LoadOptions } from './load-options.js';

type PlacementOptions = Pick<
  CompleteLoadOptions,
  'device' | 'gpuLayers' | 'splitMode' | 'mainGpu' | 'tensorSplit' | 'cpuMoe' | 'cpuMoeLayers' | 'overrideTensor'
>;

/** @throws {ChasquiError} `invalid_options`. Does not check that the devices exist: that needs the modules. */
export function toNativeOffload(options: PlacementOptions): NativeOffload {
  const { device, gpuLayers, splitMode, mainGpu, tensorSplit } = options;
  return {
    devices: readDevices(device),
    gpuLayers: typeof gpuLayers === 'number' ? gpuLayers : null,
    splitMode,
    mainGpu: mainGpu ?? null,
    tensorSplit: tensorSplit ?? [],
    overrides: [...namedOverrides(options.overrideTensor ?? []), ...expertOverrides(options)],
  };
}

type Overrides = NativeOffload['overrides'];

/** Parses `exps=CPU,blk\.0=CUDA1`. llama.cpp applies the first match. */
function namedOverrides(texts: readonly string[]): Overrides {
  return texts
    .flatMap((text) => text.split(','))
    .map((text) => text.split('=') as [string, string])
    .map(([tensors, device]) => ({ tensors, device: device === 'CPU' ? '' : device }));
}

/** Expert weights, by the names of llama.cpp. */
const EXPERTS = String.raw`\.ffn_(up|down|gate|gate_up)_(ch|)exps`;

function expertOverrides({ cpuMoe, cpuMoeLayers }: PlacementOptions): Overrides {
  if (cpuMoe) return [{ tensors: EXPERTS, device: '' }];
  const layers = Array.from({ length: cpuMoeLayers }, (_, layer) => layer);
  return layers.map((layer) => ({ tensors: String.raw`blk\.${layer}${EXPERTS}`, device: '' }));
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
  /** If it is unknown how many layers fit: what was done instead, and why. */
  unfitted?: string;
}

const KEPT_OFF = 'No layers are on the GPU, because setting them up there failed. `gpuLayers` overrides this';

/**
 * Determines how many layers fit on the GPUs, in another process. If that process ends, the answer is none, because the
 * process that loads the model would end, too. A given number of layers is tried, too, but used even if it may not fit.
 * @throws {ChasquiError} `model_load_failed`: the given number crashed that process.
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
  return { offload, unfitted: `All layers are on the GPU, because it is unknown how many fit: ${reason}` };
}

function tooMany(layers: number | 'all', reason: string): ChasquiError {
  const advice = 'Ask for fewer with `gpuLayers`, or leave it out for as many as fit.';
  return new ChasquiError('model_load_failed', `Setting up ${layers} layers on the GPU failed: ${reason}. ${advice}`);
}
