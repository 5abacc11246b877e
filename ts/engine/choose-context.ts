/** How long a context is where nobody says: what the model was trained for, as far as there is memory for it. */
import os from 'node:os';
import type { NativeDeviceMemory } from '../native/addon.js';
import { loadAddon } from '../native/load-addon.js';
import type { OpenRequest } from '../native/open-request.js';
import { runFit } from '../native/run-fit.js';
import { readGgufSizes } from './gguf-sizes.js';
import { completeLoadOptions, type LoadOptions } from './load-options.js';

/** llama.cpp counts cells in groups of so many. */
const CONTEXT_STEP = 256;
/** As far as the engine goes by itself. */
const ENGINE_CHOICE = 4096;
/** Of main memory, what cells and their computing may take beside the weights; the rest is for everything else. */
const SHARE_OF_MEMORY = 0.5;

/**
 * In tokens; 0 where the engine decides, because the model was trained for no more than it chooses by itself. Where it is
 * not known what the model takes, the context is the shortest one.
 */
export async function chooseContext(request: OpenRequest, options: LoadOptions, signal?: AbortSignal): Promise<number> {
  const { contextSize, fit, fitCtx, fitTargetMiB } = completeLoadOptions(options);
  if (contextSize !== undefined) return contextSize;
  const trained = readGgufSizes(request.path).get('context_length') ?? 0;
  if (trained <= Math.min(fitCtx, ENGINE_CHOICE)) return 0;
  if (trained <= fitCtx) return trained;
  if (fit === 'off') return fitCtx;
  const contexts = [fitCtx, trained];
  const spareBytes = fitTargetMiB * 2 ** 20;
  const task = { request: { ...request, verbose: false }, spareBytes, contexts };
  const measured = await runFit(loadAddon().path, task, { signal });
  signal?.throwIfAborted();
  const [shortest, longest] = measured.reason === undefined ? (measured.memory ?? []) : [];
  if (shortest === undefined || longest === undefined) return fitCtx;
  return longestThatFits({ context: fitCtx, memory: shortest }, { context: trained, memory: longest }, spareBytes);
}

/** What a model takes of each device with a context. */
interface Measured {
  context: number;
  memory: readonly NativeDeviceMemory[];
}

/**
 * A context between the two. What is taken grows with it along a line. `spareBytes` stay free on each GPU. The devices are
 * in the same order in both; that of main memory has no name.
 */
export function longestThatFits(
  shortest: Measured,
  longest: Measured,
  spareBytes: number,
  mainBytes = availableMemory(),
): number {
  const limits = shortest.memory.map((device, at) => {
    const taken = takenOf(device);
    const growth = takenOf(longest.memory[at] ?? device) - taken;
    const isMain = device.name === '';
    const weights = device.weights + device.other;
    const free = isMain
      ? (mainBytes - weights) * SHARE_OF_MEMORY - (taken - weights)
      : device.free - spareBytes - taken;
    const perToken = growth / (longest.context - shortest.context);
    return perToken <= 0 ? longest.context : shortest.context + Math.floor(free / perToken);
  });
  const fits = Math.min(longest.context, ...limits);
  if (fits === longest.context) return longest.context;
  return Math.max(shortest.context, Math.floor(fits / CONTEXT_STEP) * CONTEXT_STEP);
}

function takenOf({ weights, cells, compute, other }: NativeDeviceMemory): number {
  return weights + cells + compute + other;
}

function availableMemory(): number {
  // Not in the types of the oldest Node that is supported.
  const { availableMemory: available } = process as { availableMemory?: () => number };
  return available?.() ?? os.freemem();
}
