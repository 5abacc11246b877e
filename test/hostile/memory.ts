/** What a process takes of the machine's memory, in MiB. */
import fs from 'node:fs';

export function memoryMiB(pid: number | undefined): number {
  return statusMiB(pid, 'VmRSS');
}

/** The most that it ever took. */
export function peakMemoryMiB(pid: number | undefined): number {
  return statusMiB(pid, 'VmHWM');
}

function statusMiB(pid: number | undefined, name: string): number {
  const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1024;
}
