/** Chooses the devices of a model, and the number of layers on them. */
import { ChasquiError, invalidOptions } from '../errors.js';
import { loadAddon } from '../native/load-addon.js';
import type { NativeOffload, OpenRequest } from '../native/native-options.js';
import { runFit } from '../native/run-fit.js';
import type { ContextSettings, MissingMemory } from '../native/smaller-settings.js';
import { readGgufSizes } from './gguf-header.js';
import { type CompleteLoadOptions, completeLoadOptions, type LoadOptions } from './load-options.js';

type PlacementOptions = Pick<
  CompleteLoadOptions,
  | ('device' | 'gpuLayers' | 'splitMode' | 'mainGpu' | 'tensorSplit' | 'cpuMoe' | 'cpuMoeLayers' | 'overrideTensor')
  | ('draftDevice' | 'draftGpuLayers')
>;

/** @throws {ChasquiError} `invalid_options`. Does not check that the devices exist: that needs the modules. */
export function toNativeOffload(options: PlacementOptions): NativeOffload {
  const { device, gpuLayers, splitMode, mainGpu, tensorSplit, draftDevice, draftGpuLayers } = options;
  return {
    devices: readDevices('device', device),
    gpuLayers: typeof gpuLayers === 'number' ? gpuLayers : null,
    draftDevices: readDevices('draftDevice', draftDevice),
    draftGpuLayers: typeof draftGpuLayers === 'number' ? draftGpuLayers : null,
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

function readDevices(option: string, device: LoadOptions['device']): readonly string[] | null {
  if (device === undefined) return null;
  const names = typeof device === 'string' ? device.split(',') : device;
  if (!names.includes('none')) return names;
  if (names.length === 1) return [];
  throw invalidOptions(`\`${option}\` is ${names.join(',')}, but \`none\` must stand alone.`);
}

export interface ChosenOffload {
  offload: NativeOffload;
  /** Why not all layers are on the GPUs; if it is unknown how many fit, what was done instead. */
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
  const task = {
    request: { ...request, verbose: false },
    spareBytes: fitTargetMiB * 2 ** 20,
    ...(gpuLayers === 'auto' && { asked: askedOf(request) }),
  };
  const fitted = await runFit(loadAddon().path, task, { signal });
  signal?.throwIfAborted();
  if (gpuLayers !== 'auto') {
    if (fitted.ended === 'crashed') throw tooMany(gpuLayers, fitted.reason);
    return { offload };
  }
  if (fitted.reason === undefined) {
    const { offload, missing } = fitted;
    return { offload, ...(missing !== undefined && { unfitted: explainMissing(missing, task.request) }) };
  }
  const { reason, ended } = fitted;
  if (ended) return { offload: { ...offload, gpuLayers: 0 }, unfitted: `${KEPT_OFF}: ${reason}` };
  return { offload, unfitted: `All layers are on the GPU, because it is unknown how many fit: ${reason}` };
}

/** llama.cpp's default for files without a context length. */
const DEFAULT_CONTEXT = 4096;

/** The engine replaces a context of 0 by the model's own, if that is not longer. */
function askedOf({ path, options: { parallel, contextLength } }: OpenRequest): ContextSettings {
  const trained = readGgufSizes(path).get('context_length') ?? DEFAULT_CONTEXT;
  return { parallel, contextLength: contextLength || Math.min(trained, DEFAULT_CONTEXT) };
}

function explainMissing({ device, needs, context, free, fits }: MissingMemory, request: OpenRequest): string {
  const { parallel, contextLength } = askedOf(request);
  const mib = (bytes: number) => `${Math.round(bytes / 2 ** 20)} MiB`;
  const values = [
    ...(fits.parallel > 0 ? [`\`parallel\` ${fits.parallel}`] : []),
    ...(fits.contextLength > 0 ? [`\`contextSize\` ${fits.contextLength}`] : []),
  ];
  const advice =
    values.length > 0 ? `All layers fit with ${values.join(', or with ')}` : 'A smaller quantisation needs less memory';
  return (
    `Some layers are on the CPU, which is slower: with all of them, ${device} needs ${mib(needs)} (${mib(context)} of it ` +
    `for ${parallel} × ${contextLength} tokens of context) and has ${mib(free)} free. ${advice}`
  );
}

function tooMany(layers: number | 'all', reason: string): ChasquiError {
  const advice = 'Ask for fewer with `gpuLayers`, or leave it out for as many as fit.';
  return new ChasquiError('model_load_failed', `Setting up ${layers} layers on the GPU failed: ${reason}. ${advice}`);
}
