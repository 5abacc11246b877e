/** Finds the processes of a server's engines, and breaks them. Linux only. */
import { readdirSync, readFileSync } from 'node:fs';
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
  return !['', 'Z', 'X'].includes(statusOf(pid)[0] ?? '');
}

export function residentMiB(pid: number): number {
  const [, pages = '0'] = read(`/proc/${pid}/statm`).split(' ');
  return (Number(pages) * 4096) / 2 ** 20;
}

export function openDescriptors(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

function parentOf(pid: number): number {
  return Number(statusOf(pid)[1] ?? 0);
}

/** State, parent and so on: all that follows the name, which may hold anything. */
function statusOf(pid: number): string[] {
  return read(`/proc/${pid}/stat`)
    .replace(/^.*\) /s, '')
    .split(' ');
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
