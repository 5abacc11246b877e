/** What a process uses, as Linux's /proc shows it. */
import { readFileSync } from 'node:fs';

export interface ProcessUsage {
  cpuSeconds: number;
  residentBytes: number;
}

/** /proc counts processor time in hundredths of a second on every architecture. */
const TICKS_PER_SECOND = 100;

/** `null` when the process has ended, and on other systems than Linux. */
export function readProcessUsage(pid: number): ProcessUsage | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The fields follow the program's name, which is in parentheses and may contain anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [userTicks, systemTicks] = [Number(fields[11]), Number(fields[12])];
    const [, residentKib = ''] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    // A process that has ended and was not waited for yet has no memory.
    if (residentKib === '') return null;
    return { cpuSeconds: (userTicks + systemTicks) / TICKS_PER_SECOND, residentBytes: Number(residentKib) * 1024 };
  } catch {
    return null;
  }
}

/** `null` likewise, and where there is no process. */
export function residentBytesOf(pid: number | null): number | null {
  return pid === null ? null : (readProcessUsage(pid)?.residentBytes ?? null);
}

/** Of this process. `null` where it may open no file to look, which Node throws an error for. */
export function ownResidentBytes(): number | null {
  try {
    return process.memoryUsage.rss();
  } catch {
    return null;
  }
}
