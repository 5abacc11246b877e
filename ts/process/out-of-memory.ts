import { readFileSync } from 'node:fs';
import path from 'node:path';

/** The numbers of processes that the kernel's OOM killer has killed; `null`: unknown. */
export interface OutOfMemoryKills {
  /** In the cgroup of this process. */
  readonly own: number | null;
  /** On the whole machine: perhaps processes of other programs. */
  readonly machine: number | null;
}

/** Linux only. */
export function countOutOfMemoryKills(read: (file: string) => string = readText): OutOfMemoryKills {
  const counts = CGROUPS.map(({ line, root, kills }) => {
    const [, group] = line.exec(read('/proc/self/cgroup')) ?? [];
    return group === undefined ? null : countIn(read(path.join(root, group, kills)));
  });
  return { own: counts.find((count) => count !== null) ?? null, machine: countMachineKills(read) };
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
