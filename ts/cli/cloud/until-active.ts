/** Follows a revision until it is active or has failed. */
import type { Deployed } from '../../cloud/apps/control.js';
import { CommandFailed, EXIT } from '../errors/exit-codes.js';
import { printable } from '../output/log-output.js';
import type { CloudClient } from './client.js';

const POLL_MS = 250;

/** Resolves once the revision is active. @throws {CommandFailed} if it failed or was superseded */
export async function untilActive(
  cloud: CloudClient,
  { org, app, revision }: Deployed,
  quiet: boolean,
): Promise<string> {
  const steps = showSteps(process.stderr, quiet);
  for (;;) {
    const { revisions, progress } = await cloud.app(org, app, revision);
    const found = revisions.find(({ number }) => number === revision);
    const state = found?.state ?? 'gone';
    if (['active', 'failed', 'retired', 'gone'].includes(state)) {
      steps.clear();
      if (state === 'active') return state;
      const reason = printable(found?.reason ?? 'it was deleted');
      throw new CommandFailed(EXIT.notReady, `revision ${revision} is ${state}: ${reason}`);
    }
    steps.show(progress ?? state);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** One rewritten line on a terminal, otherwise one line per step. */
export function showSteps(output: NodeJS.WriteStream, quiet: boolean): { show(step: string): void; clear(): void } {
  let shown = '';
  const blank = () => `\r${' '.repeat(shown.length)}\r`;
  return {
    show(step) {
      const line = printable(step).slice(0, 78);
      // Without a terminal, each percentage would print a line.
      const isSame = output.isTTY ? line === shown : line.replace(/\d+ %$/, '') === shown.replace(/\d+ %$/, '');
      if (quiet || isSame) return;
      output.write(output.isTTY ? `${blank()}${line}` : `${line}\n`);
      shown = line;
    },
    clear() {
      if (output.isTTY && shown !== '') output.write(blank());
      shown = '';
    },
  };
}
