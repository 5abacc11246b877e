/**
 * How long a context is where nobody says: what the model was trained for, as far as there is memory for one completion of
 * that length. All completions together have the memory that there is.
 */
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
/** What the engine may count for a token beside its cell: where it stands, and whose it is. */
const BYTES_BESIDE_CELL = 64;

export interface ChosenContext {
  /** In tokens; 0 where the engine decides, because the model was trained for no more than it chooses by itself. */
  contextLength: number;
  /** For the cells of all completions together; 0: for as many as they can have. */
  kvBudgetBytes: number;
}

/** Where it is not known what the model takes, the context is the shortest one. */
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

/** The contexts that can be chosen. */
interface Range {
  shortest: Measured;
  longest: Measured;
}

/** Whether no cells are on GPUs, whose memory is taken at once. On Linux, main memory is taken as cells are used. */
function areInMainMemory(memory: readonly NativeDeviceMemory[]): boolean {
  return memory.every(({ name, cells }) => name === '' || cells === 0);
}

/**
 * A context as long as one completion alone has memory for, and the memory that all completions share. They take no more
 * of it than where each has a share of its own.
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

/** With the cells in main memory of one completion. */
function ofOne({ context, memory }: Measured, parallel: number): Measured {
  const ofMain = (device: NativeDeviceMemory) => ({ ...device, cells: device.cells / parallel });
  return { context, memory: memory.map((device) => (device.name === '' ? ofMain(device) : device)) };
}

/** Cells in main memory take what the budget says, however long the context is. */
function longestWithBudget({ shortest, longest }: Range, spareBytes: number): number {
  const cells = longest.memory.find(({ name }) => name === '')?.cells ?? 0;
  const memory = shortest.memory.map((device) => (device.name === '' ? { ...device, cells } : device));
  return longestThatFits({ context: shortest.context, memory }, longest, spareBytes);
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
