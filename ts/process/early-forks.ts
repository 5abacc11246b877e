/**
 * Processes that are started before it is known what they are to do: until a script takes messages it is busy for a tenth of
 * a second, in which its parent can find out what to send.
 */
import type { Socket } from 'node:net';
import { type ForkedScript, type ForkOptions, forkScript } from './fork-script.js';

const waiting = new Map<string, ForkedScript>();

/** Its process does not keep this one, until somebody takes it. */
export function forkEarly(script: URL, options: ForkOptions): void {
  try {
    const forked = forkScript(script, [], options);
    const { child } = forked;
    child.unref();
    child.channel?.unref();
    for (const pipe of child.stdio) (pipe as Socket | null)?.unref();
    waiting.set(script.href, forked);
  } catch {
    // Whoever needs it tries again, and is told.
  }
}

/**
 * The process that was started early, or a new one.
 * @throws {ForkFailed} as `forkScript` does.
 */
export function takeOrFork(script: URL, options: ForkOptions): ForkedScript {
  const early = waiting.get(script.href);
  waiting.delete(script.href);
  const lives = early?.child.pid !== undefined && early.child.exitCode === null && early.child.signalCode === null;
  return early && lives ? early : forkScript(script, [], options);
}

/** Ends those that nobody has taken. */
export function endEarlyForks(): void {
  for (const { child } of waiting.values()) child.kill('SIGKILL');
  waiting.clear();
}
