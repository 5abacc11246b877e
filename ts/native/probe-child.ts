/**
 * Child process that tries ggml modules, because a bad one can crash or hang its process:
 * `probe-child.js <addon> score|try <file>...` sends a `ProbeMessage` when it is ready, for each step, and for each file in order.
 */
import { createRequire } from 'node:module';
import type { Addon, NativeDevice } from './addon.js';

export type ProbeTask = 'score' | 'try';

export interface ProbeResult {
  /** Of `score`: see `Addon.scoreModule`. */
  score?: number;
  /** Of `try`. */
  devices?: NativeDevice[];
  /** Why it cannot be used. */
  reason?: string;
}

export type ProbeMessage = { sign: 'ready' | 'step' } | ({ sign?: never } & ProbeResult);

const [addonPath = '', task, ...files] = process.argv.slice(2);
const addon = createRequire(import.meta.url)(addonPath) as Addon;
// A hang must not outlive the parent.
addon.ownProcess(false);

await send({ sign: 'ready' });
for (const file of files) await send(probe(file));
process.disconnect();

function probe(file: string): ProbeResult {
  try {
    if (task === 'score') return { score: addon.scoreModule(file) };
    return { devices: addon.tryModule(file, () => process.send?.({ sign: 'step' } satisfies ProbeMessage)) };
  } catch (error) {
    return { reason: (error as Error).message };
  }
}

/** Waits until the message is sent: the next file may crash this process. */
function send(message: ProbeMessage): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send?.(message, (error: Error | null) => (error ? reject(error) : resolve()));
  });
}
