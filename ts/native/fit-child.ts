/**
 * The child process in which llama.cpp works out how many layers fit, and what a model takes: it loads drivers, and sets
 * the model up without its weights. `fit-child.js <addon>` takes one `FitTask` and sends one `FitResult`, after `ready`.
 */
import { createRequire } from 'node:module';
import type { Addon, NativeDeviceMemory } from './addon.js';
import type { NativeOffload, OpenRequest } from './open-request.js';

export interface FitTask {
  request: OpenRequest;
  /** To leave free on each device. */
  spareBytes: number;
  /** Measures what the model takes with contexts of so many tokens, with the layers that fit. */
  contexts?: readonly number[];
}

export type FitMessage = 'ready' | FitResult;

/** How the process ended; the driver or llama.cpp may do the same when the model is loaded. */
export type FitResult =
  | { offload: NativeOffload; memory?: NativeDeviceMemory[][]; reason?: never; ended?: never }
  | { reason: string; ended?: 'crashed' | 'hung' };

const addon = createRequire(import.meta.url)(process.argv[2] ?? '') as Addon;
// Whatever hangs here must not outlive the one that waits for it.
addon.ownProcess(false);

process.send?.('ready' satisfies FitMessage);
process.once('message', (task: FitTask) => {
  process.send?.(fit(task), () => process.disconnect());
});

function fit({ request, spareBytes, contexts }: FitTask): FitResult {
  try {
    if (contexts === undefined) return { offload: addon.fit(request, spareBytes) };
    // Without a module for GPUs there is nothing to be fitted, and llama.cpp would refuse to.
    const offload = request.modules.length > 1 ? addon.fit(request, spareBytes) : request.options.offload;
    return { offload, memory: contexts.map((context) => measure(request, offload, context)) };
  } catch (error) {
    return { reason: (error as Error).message };
  }
}

function measure(request: OpenRequest, offload: NativeOffload, contextLength: number): NativeDeviceMemory[] {
  return addon.measure({ ...request, options: { ...request.options, offload, contextLength } });
}
