/**
 * Child process that determines how many layers fit and how much memory a model takes: llama.cpp loads drivers, and sets the
 * model up without its weights. `fit-child.js <addon>` receives one `FitTask` and sends `ready`, then a `FitResult`, which
 * another one with `missing` may replace.
 */
import { createRequire } from 'node:module';
import type { Addon, NativeDeviceMemory } from './addon.js';
import type { NativeOffload, OpenRequest } from './native-options.js';
import { type ContextSettings, type MissingMemory, smallerSettings } from './smaller-settings.js';

export interface FitTask {
  request: OpenRequest;
  /** Left free on each device. */
  spareBytes: number;
  /** Measures the memory with these context lengths, and the layers that fit. */
  contexts?: readonly number[];
  /** If not all layers fit with these settings: finds `missing`. */
  asked?: ContextSettings;
}

export type FitMessage = 'ready' | FitResult;

/** How the process ended. Loading the model may end in the same way. */
export type FitResult =
  | { offload: NativeOffload; memory?: NativeDeviceMemory[][]; missing?: MissingMemory; reason?: never; ended?: never }
  | { reason: string; ended?: 'crashed' | 'hung' };

const addon = createRequire(import.meta.url)(process.argv[2] ?? '') as Addon;
// A hang must not outlive the parent.
addon.ownProcess(false);

process.send?.('ready' satisfies FitMessage);
process.once('message', (task: FitTask) => {
  const result = fit(task);
  const isShort = task.asked !== undefined && result.reason === undefined && result.offload.gpuLayers !== null;
  process.send?.(result, () => {
    if (!isShort) return process.disconnect();
    // The result stands if this fails, or ends the process.
    process.send?.({ ...result, ...findMissing(task) }, () => process.disconnect());
  });
});

function findMissing({ request, spareBytes, asked }: FitTask): { missing?: MissingMemory } {
  const measured = ({ parallel, contextLength }: ContextSettings) =>
    addon.measure({ ...request, options: { ...request.options, parallel, contextLength } });
  try {
    return asked === undefined ? {} : { missing: smallerSettings(measured, asked, spareBytes) };
  } catch {
    return {};
  }
}

function fit({ request, spareBytes, contexts }: FitTask): FitResult {
  try {
    if (contexts === undefined) return { offload: addon.fit(request, spareBytes) };
    // llama.cpp refuses to fit without a GPU module.
    const offload = request.modules.length > 1 ? addon.fit(request, spareBytes) : request.options.offload;
    return { offload, memory: contexts.map((context) => measure(request, offload, context)) };
  } catch (error) {
    return { reason: (error as Error).message };
  }
}

function measure(request: OpenRequest, offload: NativeOffload, contextLength: number): NativeDeviceMemory[] {
  return addon.measure({ ...request, options: { ...request.options, offload, contextLength } });
}
