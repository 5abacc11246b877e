/**
 * Chooses the context length if it is not given: the length that the model was trained for, or less if memory is too small
 * for one completion of that length. All completions share the memory.
 */
import type { NativeDeviceMemory } from '../native/addon.js';
import { loadAddon } from '../native/load-addon.js';
import type { OpenRequest } from '../native/native-options.js';
import { runFit } from '../native/run-fit.js';
import { availableMemory } from '../process/process-usage.js';
import { readGgufSizes } from './gguf-header.js';
import { completeLoadOptions, type LoadOptions } from './load-options.js';

/** llama.cpp rounds contexts to multiples of this. */
const CONTEXT_STEP = 256;
/** The longest context that the engine chooses by itself. */
const ENGINE_CHOICE = 4096;
/** The share of main memory, without the weights, that cells and compute buffers may take. */
const SHARE_OF_MEMORY = 0.5;
/** Position and sequence of a token, which the engine counts beside its cell. */
const BYTES_BESIDE_CELL = 64;

export interface ChosenContext {
  /** In tokens; 0: the engine chooses, because the model was trained for at most that length. */
  contextLength: number;
  /** For the cells of all completions together; 0: no limit. */
  kvBudgetBytes: number;
}

/** Returns the shortest context if the memory of the model cannot be measured. */
export async function chooseContext(
  request: OpenRequest,
  options: LoadOptions,
  signal?: AbortSignal,
): Promise<ChosenContext> {
  const { contextSize, fit, fitCtx, fitTargetMiB, parallel } = completeLoadOptions(options);
  const { kvBudgetBytes } = request.options;
  const ofLength = (contextLength: number) => ({ contextLength, kvBudgetBytes });
  if (contextSize !== undefined) return ofLength(contextSize);
  const trained = readGgufSizes(request.path).get('context_length') ?? 0;
  if (trained <= Math.min(fitCtx, ENGINE_CHOICE)) return ofLength(0);
  if (trained <= fitCtx) return ofLength(trained);
  if (fit === 'off') return ofLength(fitCtx);
  const contexts = [fitCtx, trained];
  const spareBytes = fitTargetMiB * 2 ** 20;
  const task = { request: { ...request, verbose: false }, spareBytes, contexts };
  const measured = await runFit(loadAddon().path, task, { signal });
  signal?.throwIfAborted();
  const [shortest, longest] = measured.reason === undefined ? (measured.memory ?? []) : [];
  if (shortest === undefined || longest === undefined) return ofLength(fitCtx);
  const range = { shortest: { context: fitCtx, memory: shortest }, longest: { context: trained, memory: longest } };
  if (kvBudgetBytes > 0) return ofLength(longestWithBudget(range, spareBytes));
  if (process.platform === 'linux' && areInMainMemory(longest)) return sharedContext(range, parallel, spareBytes);
  return ofLength(longestThatFits(range.shortest, range.longest, spareBytes));
}

interface Range {
  shortest: Measured;
  longest: Measured;
}

/** GPU memory is allocated at once; on Linux, main memory is allocated as cells are used. */
function areInMainMemory(memory: readonly NativeDeviceMemory[]): boolean {
  return memory.every(({ name, cells }) => name === '' || cells === 0);
}

/**
 * Returns the longest context that fits into memory with a single completion, and the budget that all completions
 * share. The budget is no larger than it would be with a fixed share for each.
 */
export function sharedContext(
  { shortest, longest }: Range,
  parallel: number,
  spareBytes: number,
  mainBytes = availableMemory(),
): ChosenContext {
  const contextLength = longestThatFits(ofOne(shortest, parallel), ofOne(longest, parallel), spareBytes, mainBytes);
  const main = (measured: Measured) => measured.memory.find(({ name }) => name === '');
  const [least, most] = [main(shortest), main(longest)];
  if (least === undefined || most === undefined) return { contextLength, kvBudgetBytes: 0 };
  const share = (contextLength - shortest.context) / (longest.context - shortest.context);
  const compute = least.compute + (most.compute - least.compute) * share;
  const perToken = (most.cells - least.cells) / (longest.context - shortest.context);
  // States that do not grow are not counted in the budget, but take memory.
  const states = least.cells - perToken * shortest.context;
  const free = (mainBytes - least.weights - least.other) * SHARE_OF_MEMORY - compute - states;
  const ofOneCompletion = (perToken / parallel + BYTES_BESIDE_CELL) * contextLength;
  const kvBudgetBytes = perToken * contextLength <= free ? 0 : Math.floor(Math.max(free, ofOneCompletion));
  return { contextLength, kvBudgetBytes };
}

/** Counts the cells of one completion only, in main memory. */
function ofOne({ context, memory }: Measured, parallel: number): Measured {
  const ofMain = (device: NativeDeviceMemory) => ({ ...device, cells: device.cells / parallel });
  return { context, memory: memory.map((device) => (device.name === '' ? ofMain(device) : device)) };
}

/** With a budget, cells in main memory take the same memory whatever the context. */
function longestWithBudget({ shortest, longest }: Range, spareBytes: number): number {
  const cells = longest.memory.find(({ name }) => name === '')?.cells ?? 0;
  const memory = shortest.memory.map((device) => (device.name === '' ? { ...device, cells } : device));
  return longestThatFits({ context: shortest.context, memory }, longest, spareBytes);
}

/** The memory of each device that the model takes with a context. */
interface Measured {
  context: number;
  memory: readonly NativeDeviceMemory[];
}

/**
 * Interpolates between the two contexts: memory grows linearly. Leaves `spareBytes` free on each GPU. Both list the same
 * devices in the same order; main memory has no name.
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
