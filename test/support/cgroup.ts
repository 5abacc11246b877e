/** A cgroup with a memory limit. Linux only; requires the right to create one. */
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

export interface MemoryGroup {
  add(pid: number): void;
  /** Only when none of its processes is left. */
  remove(): void;
}

const FIRST_VERSION = '/sys/fs/cgroup/memory';
const SECOND_VERSION = '/sys/fs/cgroup';

/** Returns `null` if cgroups are not available or not permitted. */
export function memoryGroup(bytes: number): MemoryGroup | null {
  const isFirst = existsSync(FIRST_VERSION);
  const folder = path.join(isFirst ? FIRST_VERSION : SECOND_VERSION, `chasqui-test-${process.pid}`);
  try {
    mkdirSync(folder);
    writeFileSync(path.join(folder, isFirst ? 'memory.limit_in_bytes' : 'memory.max'), String(bytes));
  } catch {
    if (existsSync(folder)) rmdirSync(folder);
    return null;
  }
  return {
    add: (pid) => writeFileSync(path.join(folder, 'cgroup.procs'), String(pid)),
    remove: () => rmdirSync(folder),
  };
}
