import type { ChildProcess } from 'node:child_process';

const children = new Set<ChildProcess>();

/** Kills the child when the benchmark ends for any reason other than SIGKILL. */
export function killAtExit(child: ChildProcess): void {
  if (children.size === 0) watchForTheEnd();
  children.add(child);
  child.once('exit', () => children.delete(child));
}

let watching = false;

function watchForTheEnd(): void {
  if (watching) return;
  watching = true;
  process.on('exit', () => {
    for (const child of children) child.kill('SIGKILL');
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1));
}
