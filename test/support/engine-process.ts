/** Finds the processes of a server's engines, and breaks them. Linux only. */
import { readdirSync, readFileSync } from 'node:fs';
import { parentOf, statusMiB } from './process-tree.js';
import { until } from './until.js';

/** The processes of engines whose parent is `pid`, as the kernel has them now. */
export function enginesOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((each) => parentOf(each) === pid && commandOf(each).includes('engine/child/main'));
}

export async function untilEngineOf(pid: number, other?: number): Promise<number> {
  let found: number | undefined;
  await until(
    () => {
      found = enginesOf(pid).find((each) => each !== other);
      return found !== undefined;
    },
    'a process for the engine',
    30_000,
  );
  return found as number;
}

/** Neither gone nor waiting to be forgotten. */
export function isAlive(pid: number): boolean {
  const [, state = ''] = /\) (\w) /.exec(read(`/proc/${pid}/stat`)) ?? [];
  return !['', 'Z', 'X'].includes(state);
}

export function residentMiB(pid: number): number {
  return statusMiB(pid, 'VmRSS');
}

export function openDescriptors(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

function commandOf(pid: number): string {
  return read(`/proc/${pid}/cmdline`);
}

/** Empty when the process is gone. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
