/** CPU time and memory of processes, from Linux's /proc. */
import { readFileSync } from 'node:fs';
import os from 'node:os';

export interface ProcessUsage {
  cpuSeconds: number;
  residentBytes: number;
}

/** USER_HZ is 100 on every architecture. */
const TICKS_PER_SECOND = 100;

/** Returns `null` if the process has ended, and on systems other than Linux. */
export function readProcessUsage(pid: number): ProcessUsage | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The fields follow the program's name, which is in parentheses and may contain anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [userTicks, systemTicks] = [Number(fields[11]), Number(fields[12])];
    const [, residentKib = ''] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    // A zombie has no memory.
    if (residentKib === '') return null;
    return { cpuSeconds: (userTicks + systemTicks) / TICKS_PER_SECOND, residentBytes: Number(residentKib) * 1024 };
  } catch {
    return null;
  }
}

export function residentBytesOf(pid: number | null): number | null {
  return pid === null ? null : (readProcessUsage(pid)?.residentBytes ?? null);
}

/** Of this process; `null` if no file descriptor is left to read it. */
export function ownResidentBytes(): number | null {
  try {
    return process.memoryUsage.rss();
  } catch {
    return null;
  }
}

/** Free memory in bytes, within the limit of a container. */
export function availableMemory(): number {
  // Missing in the types of the oldest supported Node.
  const { availableMemory: available } = process as { availableMemory?: () => number };
  return available?.() ?? os.freemem();
}
