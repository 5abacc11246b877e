/** Runs `fit-child.ts`: determines how many layers fit, or whether a given number can be set up. */

import { type ForkedScript, forkScript, START_LIMIT_MS } from '../process/fork-script.js';
import { HangWatch } from '../process/hang-watch.js';
import type { FitMessage, FitResult, FitTask } from './fit-child.js';

/** Normally seconds, but a driver may have to start and a slow disk to read the vocabulary. */
const FIT_LIMIT_MS = 60_000;

/** Never rejects: failures are results. Ends early when the signal is aborted. */
export async function runFit(
  addonPath: string,
  task: FitTask,
  { signal, limitMs = FIT_LIMIT_MS }: { signal?: AbortSignal | undefined; limitMs?: number } = {},
): Promise<FitResult> {
  let forked: ForkedScript;
  try {
    forked = forkScript(new URL('fit-child', import.meta.url), [addonPath]);
  } catch (error) {
    return notStarted(error as Error);
  }
  const { child, describeCrash } = forked;
  return new Promise((resolve) => {
    let result: FitResult | undefined;
    const kill = () => child.kill('SIGKILL');
    const watch = new HangWatch(child.pid, (limit) => {
      result ??= { reason: `it gave no sign of life for ${limit / 1000} s`, ended: 'hung' };
      kill();
    });
    watch.expectSign(START_LIMIT_MS);
    signal?.addEventListener('abort', kill);
    const settle = (found: FitResult) => {
      watch.stop();
      signal?.removeEventListener('abort', kill);
      resolve(found);
    };
    child.on('message', (message: FitMessage) => {
      if (message === 'ready') watch.expectSign(limitMs);
      else result = message;
    });
    child.once('error', (error) => settle(notStarted(error)));
    child.once('close', (code, ending) => settle(result ?? { reason: describeCrash(code, ending), ended: 'crashed' }));
    // If the child ends before it reads this, `close` reports it.
    child.send(task, () => {});
  });
}

function notStarted({ message }: Error): FitResult {
  return { reason: `no process could be started for it: ${message}` };
}
