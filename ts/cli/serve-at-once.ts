/**
 * `chasqui serve` on the shortest way: no other command is loaded, and the processes of a model are started before anything
 * else is. What this does not understand is left to the whole command line, which explains it.
 */
import { forkChildrenEarly } from '../engine/child/child-scripts.js';
import { endEarlyForks } from '../process/early-forks.js';

/** `args`: those of the process, Node's own included. Says whether it was done. */
export async function serveAtOnce(args: readonly string[]): Promise<boolean> {
  if (args[2] !== 'serve' || args.includes('-h') || args.includes('--help')) return false;
  forkChildrenEarly();
  const { parseServe } = await import('./serve.js');
  const parsed = parseServe(args);
  if (parsed === undefined) {
    endEarlyForks();
    return false;
  }
  const { runServe } = await import('./run-serve.js');
  await runServe(parsed);
  // The models of a server that loads none, or computes by itself, may never come.
  endEarlyForks();
  return true;
}
