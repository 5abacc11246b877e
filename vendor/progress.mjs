// What set-up says while it works: one line a step, rewritten in place on a terminal.
import process from 'node:process';

const terminal = process.stderr.isTTY === true && process.env.TERM !== 'dumb';
const quietInterval = 15_000;
let lastLine = 0;

/** Says that a step has begun or ended; stays on the screen. */
export function say(text) {
  clearLine();
  process.stderr.write(`${text}\n`);
  lastLine = Date.now();
}

/** Shows how far a long step has come: in place on a terminal, elsewhere a line now and then. */
export function showProgress(text) {
  if (terminal) {
    const width = (process.stderr.columns || 80) - 1;
    process.stderr.write(`\r\x1b[2K${text.slice(0, width)}`);
  } else if (Date.now() - lastLine > quietInterval) {
    process.stderr.write(`${text}\n`);
    lastLine = Date.now();
  }
}

export function clearLine() {
  if (terminal) process.stderr.write('\r\x1b[2K');
}

/** A fault that the reader can act on: shown as its message alone, without a stack. */
export class SetupError extends Error {}

/** Runs the main function of a script; a SetupError ends it with one message and exit code 1. */
export async function runScript(main) {
  try {
    await main();
  } catch (error) {
    clearLine();
    process.stderr.write(`${error instanceof SetupError ? `error: ${error.message}` : error.stack}\n`);
    process.exitCode = 1;
  }
}
