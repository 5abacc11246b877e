/**
 * The child process in which ggml's modules are tried, because a bad one can end or hang the process that loads it:
 * `trial.js <addon> score|try <file>...`. Sends a `TrialMessage` when it is ready, for each step, and for each file in order.
 */
import { createRequire } from 'node:module';
import type { Addon, NativeDevice } from './addon.js';

export type TrialTask = 'score' | 'try';

export interface TrialResult {
  /** For `score`: how well the module fits this CPU; 0 not at all. */
  score?: number;
  /** For `try`: what the module computes with. */
  devices?: NativeDevice[];
  /** Why it cannot be used. */
  reason?: string;
}

export type TrialMessage = { sign: 'ready' | 'step' } | ({ sign?: never } & TrialResult);

const [addonPath = '', task, ...files] = process.argv.slice(2);
const addon = createRequire(import.meta.url)(addonPath) as Addon;
// Whatever hangs here must not outlive the one that waits for it.
addon.ownProcess(false);

await send({ sign: 'ready' });
for (const file of files) await send(judge(file));
process.disconnect();

function judge(file: string): TrialResult {
  try {
    if (task === 'score') return { score: addon.scoreModule(file) };
    return { devices: addon.tryModule(file, () => process.send?.({ sign: 'step' } satisfies TrialMessage)) };
  } catch (error) {
    return { reason: (error as Error).message };
  }
}

/** Returns when it is on its way: the next file may end this process. */
function send(message: TrialMessage): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send?.(message, (error: Error | null) => (error ? reject(error) : resolve()));
  });
}
