/** Which devices a model is put on, and how much of it. */
import { ChasquiError } from '../errors.js';
import type { NativeOffload, OpenRequest } from '../native/addon.js';
import { loadAddon } from '../native/load-addon.js';
import { runFit } from '../native/run-fit.js';

export const SPLIT_MODES = ['none', 'layer', 'row'] as const;
const DEFAULT_FIT_TARGET_MIB = 1024;
const MOST = 2 ** 31 - 1;

export interface OffloadOptions {
  /**
   * The GPUs to compute on, as `chasqui doctor` names them, in a list or separated by commas; `none`: the CPU alone.
   * Default: all GPUs of the backend.
   */
  device?: string | readonly string[];
  /**
   * How many of the last layers, the output counted as one, are put on the GPUs; `auto`: as many as fit into their free
   * memory. Nothing changes where there is no GPU. Default `auto`.
   */
  gpuLayers?: number | 'auto' | 'all';
  /**
   * How several GPUs share: `layer`, whole layers each; `row`, a part of each row, where the backend can (CUDA); `none`,
   * `mainGpu` does everything. Nothing changes where there is one GPU or none. Default `layer`.
   */
  splitMode?: (typeof SPLIT_MODES)[number];
  /** With `splitMode: 'none'`, the GPU to use: its index among those of `device`. Default 0. */
  mainGpu?: number;
  /** Each GPU's share, such as `[3, 1]`. Default: by free memory. */
  tensorSplit?: readonly number[];
  /** With `gpuLayers: 'auto'`, memory to leave free on each GPU, in MiB. Default 1024. */
  fitTargetMiB?: number;
}

/** @throws {ChasquiError} `invalid_options`; whether the devices are there is known only when modules are loaded. */
export function readOffload(options: OffloadOptions): NativeOffload {
  const { gpuLayers = 'auto', splitMode = 'layer', mainGpu, tensorSplit = [], fitTargetMiB } = options;
  if (typeof gpuLayers === 'number' ? !isCount(gpuLayers) : !['auto', 'all'].includes(gpuLayers)) {
    throw invalid('gpuLayers', gpuLayers, 'a whole number, `auto` or `all`');
  }
  if (!SPLIT_MODES.includes(splitMode)) throw invalid('splitMode', splitMode, SPLIT_MODES.join(', '));
  if (mainGpu !== undefined && !isCount(mainGpu)) throw invalid('mainGpu', mainGpu, 'an index, counted from 0');
  if (!Array.isArray(tensorSplit) || !tensorSplit.every(isShare) || (tensorSplit.length > 0 && !sum(tensorSplit))) {
    throw invalid('tensorSplit', tensorSplit, 'a list of numbers of at least 0, not all 0');
  }
  if (fitTargetMiB !== undefined && !isCount(fitTargetMiB)) {
    throw invalid('fitTargetMiB', fitTargetMiB, 'a whole number of MiB');
  }
  return {
    devices: readDevices(options.device),
    gpuLayers: typeof gpuLayers === 'number' ? gpuLayers : null,
    splitMode,
    mainGpu: mainGpu ?? null,
    tensorSplit,
    overrides: [],
  };
}

function readDevices(device: OffloadOptions['device']): readonly string[] | null {
  if (device === undefined) return null;
  const names: readonly unknown[] = typeof device === 'string' ? device.split(',') : device;
  if (!Array.isArray(names) || names.length === 0 || !names.every((name) => typeof name === 'string' && name !== '')) {
    throw invalid('device', device, 'names of devices, or `none`');
  }
  if (!names.includes('none')) return names;
  if (names.length > 1) throw invalid('device', device, '`none` alone, or names of devices');
  return [];
}

function isCount(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MOST;
}

/** llama.cpp counts shares in single precision. */
function isShare(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && Number.isFinite(Math.fround(value));
}

function sum(shares: readonly number[]): number {
  const total = shares.reduce((all, share) => Math.fround(all + share), 0);
  return Number.isFinite(total) ? total : 0;
}

function invalid(name: string, value: unknown, wanted: string): ChasquiError {
  return new ChasquiError('invalid_options', `\`${name}\` is ${JSON.stringify(value)}, but must be ${wanted}.`);
}

export interface ChosenOffload {
  offload: NativeOffload;
  /** What was done instead, and why, when it is not known how many layers fit. */
  unfitted?: string;
}

const KEPT_OFF = 'No layer is put on the GPU unless --gpu-layers says so, for setting them up there failed';

/**
 * Works out how many layers fit, unless there is no GPU. None do when that ends the process it is worked out in: it would
 * end the one that loads the model, too. A number that is given is tried in the same way, and otherwise taken as it is.
 * @throws {ChasquiError} `model_load_failed`: the given number ended that process.
 */
export async function chooseOffload(
  request: OpenRequest,
  { gpuLayers = 'auto', fitTargetMiB = DEFAULT_FIT_TARGET_MIB }: OffloadOptions,
  signal?: AbortSignal,
): Promise<ChosenOffload> {
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
  const advice = 'Ask for fewer with --gpu-layers, or leave it out for as many as fit.';
  return new ChasquiError('model_load_failed', `Setting up ${layers} layers on the GPU failed: ${reason}. ${advice}`);
}
