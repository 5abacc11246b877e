/**
 * The child process in which llama.cpp works out how many layers fit: it loads drivers, and sets the model up without
 * its weights. `fit-child.js <addon>` takes one `FitTask` and sends one `FitResult`, after `ready`.
 */
import { createRequire } from 'node:module';
import type { Addon, NativeOffload, OpenRequest } from './addon.js';

export interface FitTask {
  request: OpenRequest;
  /** To leave free on each device. */
  spareBytes: number;
}

export type FitMessage = 'ready' | FitResult;

/** How the process ended; the driver or llama.cpp may do the same when the model is loaded. */
export type FitResult =
  | { offload: NativeOffload; reason?: never; ended?: never }
  | { reason: string; ended?: 'crashed' | 'hung' };

const addon = createRequire(import.meta.url)(process.argv[2] ?? '') as Addon;
// Whatever hangs here must not outlive the one that waits for it.
addon.ownProcess(false);

process.send?.('ready' satisfies FitMessage);
process.once('message', ({ request, spareBytes }: FitTask) => {
  process.send?.(fit(request, spareBytes), () => process.disconnect());
});

function fit(request: OpenRequest, spareBytes: number): FitResult {
  try {
    return { offload: addon.fit(request, spareBytes) };
  } catch (error) {
    return { reason: (error as Error).message };
  }
}
