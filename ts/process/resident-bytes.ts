/** How much memory a process holds. */
import { readFileSync } from 'node:fs';

/** `null` where that cannot be told: only Linux has it. */
export function residentBytes(pid: number): number | null {
  try {
    const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return kib === undefined ? null : Number(kib) * 1024;
  } catch {
    return null;
  }
}
