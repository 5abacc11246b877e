/**
 * The memory limit of a runner and its child processes. The kernel enforces it where this account may create a cgroup with a
 * limit. Elsewhere, and for a clear reason, a watchdog reads the memory of the processes. Linux only.
 */
import fs from 'node:fs';
import path from 'node:path';
import { formatMemory } from '../../hub/format-bytes.js';

const LOOK_MS = 200;
/** Time for the child processes of an ended runner to end. */
const ENDING_MS = 2000;
const CGROUPS = '/sys/fs/cgroup';

/** The files of both versions of cgroups. The first limit is required. */
const VERSIONS = [
  {
    line: /^\d+:memory:(.+)$/m,
    root: path.join(CGROUPS, 'memory'),
    limits: ['memory.limit_in_bytes', 'memory.memsw.limit_in_bytes'],
    kills: 'memory.oom_control',
  },
  { line: /^0::(.+)$/m, root: CGROUPS, limits: ['memory.max', 'memory.swap.max'], kills: 'memory.events' },
];

export class MemoryLimit {
  readonly #group: string | null;
  readonly #timer: NodeJS.Timeout;

  /** `name`: of the cgroup, which may exist from an earlier control plane. `onExceeded`: called once. */
  constructor(
    name: string,
    private readonly pid: () => number | null,
    bytes: number,
    onExceeded: (reason: string) => void,
  ) {
    this.#group = makeGroup(name, bytes, pid());
    this.#timer = setInterval(() => {
      if (!this.#hasRunOut() && this.#usedBytes() <= bytes) return;
      clearInterval(this.#timer);
      onExceeded(`it ran out of memory: its limit is ${formatMemory(bytes)}`);
    }, LOOK_MS);
    this.#timer.unref();
  }

  /** Removes the group once its processes have ended. */
  close(): void {
    clearInterval(this.#timer);
    const group = this.#group;
    if (group !== null) setTimeout(() => removeQuietly(group), ENDING_MS).unref();
  }

  #hasRunOut(): boolean {
    if (this.#group === null) return false;
    const group = this.#group;
    return VERSIONS.some(({ kills }) => /^oom_kill [1-9]/m.test(read(path.join(group, kills))));
  }

  #usedBytes(): number {
    const pid = this.pid();
    return pid === null ? 0 : usedByTree(pid);
  }
}

/** Returns the path of the group, or null if this account may not create one. */
function makeGroup(name: string, bytes: number, pid: number | null): string | null {
  const own = read('/proc/self/cgroup');
  for (const { line, root, limits } of VERSIONS) {
    const [, parent] = line.exec(own) ?? [];
    if (parent === undefined) continue;
    const group = path.join(root, parent, name);
    try {
      fs.mkdirSync(group, { recursive: true });
      const [first = '', second = ''] = limits;
      fs.writeFileSync(path.join(group, first), String(bytes));
      if (fs.existsSync(path.join(group, second))) limitSwap(path.join(group, second), bytes);
      if (pid !== null) fs.writeFileSync(path.join(group, 'cgroup.procs'), String(pid));
      return group;
    } catch {
      removeQuietly(group);
    }
  }
  return null;
}

/** Version 1 limits the sum of memory and swap, version 2 swap alone. Kernels may lack both. */
function limitSwap(file: string, bytes: number): void {
  try {
    fs.writeFileSync(file, file.endsWith('swap.max') ? '0' : String(bytes));
  } catch {
    // The watchdog counts swap.
  }
}

function removeQuietly(folder: string): void {
  try {
    fs.rmdirSync(folder);
  } catch {
    // It does not exist, or a process is in it.
  }
}

/** Memory that belongs to the processes: pages of model files are shared, and the kernel can drop them. */
function usedByTree(pid: number): number {
  const status = read(`/proc/${pid}/status`);
  const own = [...status.matchAll(/^(?:RssAnon|RssShmem|VmSwap):\s+(\d+) kB$/gm)];
  const children = read(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);
  return (
    own.reduce((sum, [, kib]) => sum + Number(kib) * 1024, 0) +
    children.reduce((sum, each) => sum + usedByTree(each), 0)
  );
}

/** Empty if the file does not exist. */
function read(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
