/**
 * Forks processes before their parent knows what to send them: a start takes a tenth of a second, and the parent reads
 * its options meanwhile.
 */
import type { Socket } from 'node:net';
import { type ForkedScript, type ForkOptions, forkScript } from './fork-script.js';

const waiting = new Map<string, ForkedScript>();

/** Does not keep this process alive until `takeOrFork` returns the child. */
export function forkEarly(script: URL, options: ForkOptions): void {
  try {
    const forked = forkScript(script, [], options);
    const { child } = forked;
    child.unref();
    child.channel?.unref();
    for (const pipe of child.stdio) (pipe as Socket | null)?.unref();
    waiting.set(script.href, forked);
  } catch {
    // `takeOrFork` tries again, and reports the error.
  }
}

/**
 * Returns the process that was forked early, or a new one.
 * @throws {ForkFailed} as `forkScript` does.
 */
export function takeOrFork(script: URL, options: ForkOptions): ForkedScript {
  const early = waiting.get(script.href);
  waiting.delete(script.href);
  const lives = early?.child.pid !== undefined && early.child.exitCode === null && early.child.signalCode === null;
  return early && lives ? early : forkScript(script, [], options);
}

/** Kills the processes that were not taken. */
export function endEarlyForks(): void {
  for (const { child } of waiting.values()) child.kill('SIGKILL');
  waiting.clear();
}
