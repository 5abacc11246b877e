/**
 * Fast path of `chasqui serve`: starts the engine processes first, and loads no other command. Arguments that it cannot
 * parse fall back to the full command line, which prints the error.
 */
import { forkChildrenEarly } from '../../engine/child/child-scripts.js';
import { endEarlyForks } from '../../process/early-forks.js';

/** Returns whether the command was handled. @param args the full `process.argv` */
export async function startServeFast(args: readonly string[]): Promise<boolean> {
  if (args[2] !== 'serve' || args.includes('-h') || args.includes('--help')) return false;
  forkChildrenEarly();
  const { parseServe } = await import('../serve.js');
  const parsed = parseServe(args);
  if (parsed === undefined) {
    endEarlyForks();
    return false;
  }
  if (Object.keys(process.env).some((name) => name.startsWith('CHASQUI_'))) {
    const { warnOfMisspelt } = await import('../options/misspelt-variables.js');
    warnOfMisspelt(process.env);
  }
  const { runServe } = await import('./run-serve.js');
  await runServe(parsed);
  // A server that loads no models at startup, or computes in-process, may never need the engine process.
  endEarlyForks();
  return true;
}
