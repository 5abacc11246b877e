/** Works out in a child process how many layers fit, or whether those asked for can be set up. */

import { type ForkedScript, forkScript, START_LIMIT_MS } from '../process/fork-script.js';
import { HangWatch } from '../process/hang-watch.js';
import type { FitAnswer, FitMessage, FitTask } from './fit.js';

/** It takes seconds, but a driver may have to start, and a disk to give what is in front of the weights. */
const FIT_LIMIT_MS = 60_000;

/** Never rejects: that it cannot be worked out, for whatever reason, is an answer. Ends early when the signal aborts. */
export async function runFit(
  addonPath: string,
  task: FitTask,
  { signal, limitMs = FIT_LIMIT_MS }: { signal?: AbortSignal | undefined; limitMs?: number } = {},
): Promise<FitAnswer> {
  let forked: ForkedScript;
  try {
    forked = forkScript(new URL('fit', import.meta.url), [addonPath]);
  } catch (error) {
    return notStarted(error as Error);
  }
  const { child, describeCrash } = forked;
  return new Promise((resolve) => {
    let answer: FitAnswer | undefined;
    const kill = () => child.kill('SIGKILL');
    const watch = new HangWatch(child.pid, (limit) => {
      answer ??= { reason: `it gave no sign of life for ${limit / 1000} s`, ended: 'hung' };
      kill();
    });
    watch.expectSign(START_LIMIT_MS);
    signal?.addEventListener('abort', kill);
    const settle = (result: FitAnswer) => {
      watch.stop();
      signal?.removeEventListener('abort', kill);
      resolve(result);
    };
    child.on('message', (message: FitMessage) => {
      if (message === 'ready') watch.expectSign(limitMs);
      else answer = message;
    });
    child.once('error', (error) => settle(notStarted(error)));
    child.once('close', (code, ending) => settle(answer ?? { reason: describeCrash(code, ending), ended: 'crashed' }));
    // What becomes of a child that ends before it has read this is seen in how it ended.
    child.send(task, () => {});
  });
}

function notStarted({ message }: Error): FitAnswer {
  return { reason: `no process could be started for it: ${message}` };
}
