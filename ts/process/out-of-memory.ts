import { readFileSync } from 'node:fs';
import path from 'node:path';

/** The number of processes that the kernel's OOM killer has killed. */
export interface OutOfMemoryKills {
  readonly count: number;
  /** False: counted on the whole machine, so the process may be another program's. */
  readonly isOwn: boolean;
}

/** Counts the kills in the cgroup of this process, or else on the machine. Returns null if both are unknown (Linux only). */
export function countOutOfMemoryKills(read: (file: string) => string = readText): OutOfMemoryKills | null {
  for (const { line, root, kills } of CGROUPS) {
    const [, group] = line.exec(read('/proc/self/cgroup')) ?? [];
    const count = group === undefined ? null : countIn(read(path.join(root, group, kills)));
    if (count !== null) return { count, isOwn: true };
  }
  const count = countMachineKills(read);
  return count === null ? null : { count, isOwn: false };
}

/** Counts the kills on the whole machine. Returns null if the count is unknown. */
export function countMachineKills(read: (file: string) => string = readText): number | null {
  return countIn(read('/proc/vmstat'));
}

/** Both versions of cgroups. */
const CGROUPS = [
  { line: /^\d+:memory:(.+)$/m, root: '/sys/fs/cgroup/memory', kills: 'memory.oom_control' },
  { line: /^0::(.+)$/m, root: '/sys/fs/cgroup', kills: 'memory.events' },
];

function countIn(text: string): number | null {
  const [, count] = /^oom_kill (\d+)$/m.exec(text) ?? [];
  return count === undefined ? null : Number(count);
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
