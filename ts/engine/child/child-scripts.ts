/** The scripts of both child processes. A server may fork them before it has read its options. */
import { forkEarly, takeOrFork } from '../../process/early-forks.js';
import type { ForkedScript, ForkOptions } from '../../process/fork-script.js';

export type ChildScript = 'main' | 'preparation-main';

/** After stdin, stdout, stderr and the control channel. */
export const PIPE_FD = 4;

const OPTIONS: ForkOptions = { pipes: 1, onStderr: (text) => process.stderr.write(text) };

/** @throws {ForkFailed} as `forkScript` does. */
export function forkChild(script: ChildScript): ForkedScript {
  return takeOrFork(addressOf(script), OPTIONS);
}

/** Forks the processes of the first model. */
export function forkChildrenEarly(): void {
  for (const script of ['main', 'preparation-main'] as const) forkEarly(addressOf(script), OPTIONS);
}

function addressOf(script: ChildScript): URL {
  return new URL(script, import.meta.url);
}
