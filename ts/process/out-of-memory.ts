import { readFileSync } from 'node:fs';

/** The number of processes that the kernel's OOM killer has killed since the machine started; `null`: unknown (Linux only). */
export function countOutOfMemoryKills(): number | null {
  try {
    const [, count] = /^oom_kill (\d+)$/m.exec(readFileSync('/proc/vmstat', 'utf8')) ?? [];
    return count === undefined ? null : Number(count);
  } catch {
    return null;
  }
}
