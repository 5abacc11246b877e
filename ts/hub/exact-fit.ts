/** Memory needs of a model, as computed by llama.cpp, before the model is loaded or downloaded. */

import { readGgufFile, sizeIn } from '../engine/gguf-header.js';
import type { LoadOptions } from '../engine/load-options.js';
import { toOpenRequest } from '../engine/to-native-options.js';
import { ChasquiError } from '../errors.js';
import type { NativeDeviceMemory } from '../native/addon.js';
import { decideModules } from '../native/backends.js';
import { loadAddon } from '../native/load-addon.js';
import type { NativeOffload } from '../native/native-options.js';
import { runFit } from '../native/run-fit.js';
import { type Fit, fitOf, machineWithoutGpus, PROCESS_BYTES } from './fit.js';
import type { HubClient } from './hub-client.js';
import type { Quantisation } from './hub-types.js';
import { makeSparseCopy } from './sparse-copy.js';

export interface ExactFit extends Fit {
  /** Context length in tokens; `kv` is computed for it. */
  context: number;
  /** Bytes; the three add up to `needBytes`. `weights` includes the projector. */
  weights: number;
  kv: number;
  compute: number;
  /** The longest context that fits; 0 if not even the shortest does. */
  contextThatFits: number;
  /** Share of the weights that decoding a token reads. */
  activeShare: number;
  /** One entry per GPU, and one with an empty name for main memory. */
  devices: { name: string; needBytes: number; haveBytes: number }[];
}

export type ExactSource =
  | { path: string; projector?: string | null }
  | { client: HubClient; repo: string; commit: string; quantisation: Quantisation };

export interface ExactFitOptions {
  /** Load options; one parallel sequence by default. */
  load?: LoadOptions;
  signal?: AbortSignal;
}

const MIN_CONTEXT = 256;
/** For files without a trained context length. */
const DEFAULT_TRAINED = 4096;
/** llama.cpp rounds the context to a multiple of this. */
const CONTEXT_STEP = 256;

/**
 * @throws {ChasquiError} `fit_unknown` if llama.cpp cannot compute it, hub errors, `model_file_invalid`, or the
 * signal's reason.
 */
export async function exactFit(source: ExactSource, context: number, options: ExactFitOptions = {}): Promise<ExactFit> {
  if ('path' in source) return fitFile(source.path, source.projector, context, options);
  const copy = await makeSparseCopy(source.client, source, options.signal);
  try {
    return await fitFile(copy.path, copy.projector, context, options);
  } finally {
    copy.remove();
  }
}

async function fitFile(
  path: string,
  projector: string | null | undefined,
  context: number,
  { load = {}, signal }: ExactFitOptions,
): Promise<ExactFit> {
  const header = await readGgufFile(path);
  const trained = sizeIn(header, 'context_length') ?? DEFAULT_TRAINED;
  const images = projector === undefined ? {} : { mmproj: projector };
  // llama.cpp does not count repacked weights, which take the same memory.
  const asked = toOpenRequest(path, { parallel: 1, ...images, ...load, repack: false });
  const other = trained > context * 2 ? trained : Math.max(MIN_CONTEXT, Math.floor(context / 2));
  const task = {
    request: { ...asked, modules: await decideModules(load.backend), verbose: false },
    spareBytes: (load.fitTargetMiB ?? 1024) * 2 ** 20,
    contexts: [context, other],
  };
  signal?.throwIfAborted();
  const { offload, memory, reason } = (await runFit(loadAddon().path, task, { signal })) as Measured;
  signal?.throwIfAborted();
  if (memory === undefined) {
    throw new ChasquiError(
      'fit_unknown',
      `llama.cpp could not compute the memory needs of the model: ${reason ?? 'no reason given'}.`,
    );
  }
  const [own = [], others = []] = memory;
  const described = describe(own, offload, sizeIn(header, 'block_count'), { context, other, others, trained });
  return { ...described, activeShare: header.activeShare };
}

interface Measured {
  offload: NativeOffload;
  memory?: NativeDeviceMemory[][];
  reason?: string;
}

interface Contexts {
  context: number;
  trained: number;
  /** A second measured context, for interpolation. */
  other: number;
  others: NativeDeviceMemory[];
}

function describe(
  own: NativeDeviceMemory[],
  offload: NativeOffload,
  layers: number | null,
  contexts: Contexts,
): Omit<ExactFit, 'activeShare'> {
  const free = machineWithoutGpus();
  const gpus = own.slice(0, -1);
  const haveOf = ({ name, free: bytes }: NativeDeviceMemory) => (name === '' ? free.freeBytes : bytes);
  const weights = sum(own, (device) => device.weights + device.other);
  const kv = sum(own, ({ cells }) => cells);
  const compute = sum(own, (device) => device.compute) + PROCESS_BYTES;
  const needBytes = weights + kv + compute;
  const haveBytes = sum(own, haveOf);
  const onGpus = sum(gpus, totalOf);
  const isOnGpu = gpus.length > 0 && offload.gpuLayers !== 0 && sum(gpus, (device) => device.weights) > 0;
  const isAllOnGpu = offload.gpuLayers === null || (layers !== null && offload.gpuLayers > layers);
  const fits = own.every((device) => totalOf(device) + (device.name === '' ? PROCESS_BYTES : 0) <= haveOf(device));
  const couldFit = needBytes <= (free.totalBytes + sum(gpus, ({ total }) => total)) * 0.9;
  const badge = !fits ? 'too-large' : !isOnGpu ? 'cpu' : isAllOnGpu ? 'gpu' : 'partly-gpu';
  const shown = badge === 'cpu' ? free.freeBytes : badge === 'gpu' ? sum(gpus, haveOf) : haveBytes;
  return {
    ...fitOf(badge, badge === 'gpu' ? onGpus : needBytes, shown, couldFit),
    needBytes,
    context: contexts.context,
    weights,
    kv,
    compute,
    contextThatFits: longestContext(needBytes, haveBytes, contexts),
    devices: own.map((device) => ({ name: device.name, needBytes: totalOf(device), haveBytes: haveOf(device) })),
  };
}

/** Interpolates linearly between the two measured contexts. */
function longestContext(needBytes: number, haveBytes: number, { context, trained, other, others }: Contexts): number {
  const otherBytes = sum(others, totalOf) + PROCESS_BYTES;
  const bytesPerToken = Math.max(1, (needBytes - otherBytes) / (context - other));
  const longest = context + (haveBytes - needBytes) / bytesPerToken;
  const fitting = Math.min(trained, Math.floor(longest / CONTEXT_STEP) * CONTEXT_STEP);
  return fitting >= MIN_CONTEXT || fitting === trained ? Math.max(0, fitting) : 0;
}

function totalOf({ weights, cells, compute, other }: NativeDeviceMemory): number {
  return weights + cells + compute + other;
}

function sum(devices: readonly NativeDeviceMemory[], bytesOf: (device: NativeDeviceMemory) => number): number {
  return devices.reduce((total, device) => total + bytesOf(device), 0);
}
