/** The scripts of an engine's process and of its preparation. A server may start them before it knows its options. */
import { forkEarly, takeOrFork } from '../../process/early-forks.js';
import type { ForkedScript, ForkOptions } from '../../process/fork-script.js';

/** Names of files beside this one. */
export type ChildScript = 'main' | 'preparation-main';

/** After standard input, output and error, and the channel for messages. */
export const PIPE_FD = 4;

const OPTIONS: ForkOptions = { pipes: 1, onStderr: (text) => process.stderr.write(text) };

/** @throws {ForkFailed} as `forkScript` does. */
export function forkChild(script: ChildScript): ForkedScript {
  return takeOrFork(addressOf(script), OPTIONS);
}

/** For the first model that is loaded. */
export function forkChildrenEarly(): void {
  for (const script of ['main', 'preparation-main'] as const) forkEarly(addressOf(script), OPTIONS);
}

function addressOf(script: ChildScript): URL {
  return new URL(script, import.meta.url);
}
