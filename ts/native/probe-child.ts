/**
 * The child process in which ggml's modules are tried, because a bad one can end or hang the process that loads it:
 * `probe-child.js <addon> score|try <file>...`. Sends a `ProbeMessage` when it is ready, for each step, and for each file in order.
 */
import { createRequire } from 'node:module';
import type { Addon, NativeDevice } from './addon.js';

export type ProbeTask = 'score' | 'try';

export interface ProbeResult {
  /** For `score`: how well the module fits this CPU; 0 not at all. */
  score?: number;
  /** For `try`: what the module computes with. */
  devices?: NativeDevice[];
  /** Why it cannot be used. */
  reason?: string;
}

export type ProbeMessage = { sign: 'ready' | 'step' } | ({ sign?: never } & ProbeResult);

const [addonPath = '', task, ...files] = process.argv.slice(2);
const addon = createRequire(import.meta.url)(addonPath) as Addon;
// Whatever hangs here must not outlive the one that waits for it.
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

/** Returns when it is on its way: the next file may end this process. */
function send(message: ProbeMessage): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send?.(message, (error: Error | null) => (error ? reject(error) : resolve()));
  });
}
