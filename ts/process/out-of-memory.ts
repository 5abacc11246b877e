/** How many processes the kernel has ended for want of memory; Linux alone tells. */
import { readFileSync } from 'node:fs';

/** Counts since the machine started, in the whole system; `null` where it is not known. */
export function countOutOfMemoryKills(): number | null {
  try {
    const [, count] = /^oom_kill (\d+)$/m.exec(readFileSync('/proc/vmstat', 'utf8')) ?? [];
    return count === undefined ? null : Number(count);
  } catch {
    return null;
  }
}
