/**
 * Child process that determines how many layers fit and how much memory a model takes: llama.cpp loads drivers, and sets the
 * model up without its weights. `fit-child.js <addon>` receives one `FitTask` and sends `ready`, then one `FitResult`.
 */
import { createRequire } from 'node:module';
import type { Addon, NativeDeviceMemory } from './addon.js';
import type { NativeOffload, OpenRequest } from './native-options.js';

export interface FitTask {
  request: OpenRequest;
  /** Left free on each device. */
  spareBytes: number;
  /** Measures the memory with these context lengths, and the layers that fit. */
  contexts?: readonly number[];
}

export type FitMessage = 'ready' | FitResult;

/** How the process ended. Loading the model may end in the same way. */
export type FitResult =
  | { offload: NativeOffload; memory?: NativeDeviceMemory[][]; reason?: never; ended?: never }
  | { reason: string; ended?: 'crashed' | 'hung' };

const addon = createRequire(import.meta.url)(process.argv[2] ?? '') as Addon;
// A hang must not outlive the parent.
addon.ownProcess(false);

process.send?.('ready' satisfies FitMessage);
process.once('message', (task: FitTask) => {
  process.send?.(fit(task), () => process.disconnect());
});

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
