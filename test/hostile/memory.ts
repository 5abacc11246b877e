/** Resident memory of a server and its engine process, in MiB. */
import { statusMiB, sumOverTree } from '../support/process-tree.js';

export function memoryMiB(pid: number | undefined): number {
  return pid === undefined ? 0 : sumOverTree(pid, (each) => statusMiB(each, 'VmRSS'));
}

/** The most that each of its processes ever took. */
export function peakMemoryMiB(pid: number | undefined): number {
  return pid === undefined ? 0 : sumOverTree(pid, (each) => statusMiB(each, 'VmHWM'));
}
