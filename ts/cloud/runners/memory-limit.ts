/**
 * The memory limit of a runner and its child processes. The kernel enforces it where this account may create a cgroup with a
 * limit. Elsewhere, and for a clear reason, a watchdog reads the memory of the processes. Linux only.
 */
import fs from 'node:fs';
import path from 'node:path';
import { formatMemory } from '../../hub/format-bytes.js';
import { type CgroupPlaces, joinCgroup, readOrEmpty, removeCgroupSoon } from './cgroups.js';

const LOOK_MS = 200;

/** The files of versions 1 and 2 of cgroups. */
const LIMITS = ['memory.limit_in_bytes', 'memory.memsw.limit_in_bytes'] as const;
const UNIFIED_LIMITS = ['memory.max', 'memory.swap.max'] as const;
const KILLS = ['memory.oom_control', 'memory.events'];

export class MemoryLimit {
  /** Resolves when the process is in its group, or there is none. */
  readonly joined: Promise<void>;
  #group: string | null = null;
  readonly #timer: NodeJS.Timeout;

  /** `onExceeded`: called once. */
  constructor(
    cgroup: string,
    private readonly pid: () => number | null,
    private readonly bytes: number,
    onExceeded: (reason: string) => void,
    places?: CgroupPlaces,
  ) {
    this.joined = makeGroup(cgroup, bytes, pid(), places).then((group) => {
      this.#group = group;
    });
    this.#timer = setInterval(() => {
      if (this.killReason() === null && this.#usedBytes() <= bytes) return;
      clearInterval(this.#timer);
      onExceeded(this.#reason);
    }, LOOK_MS);
    this.#timer.unref();
  }

  /** Returns a reason if the kernel has killed a process at the limit, else null. */
  killReason(): string | null {
    return this.#hasRunOut() ? this.#reason : null;
  }

  close(): void {
    clearInterval(this.#timer);
    void this.joined.then(() => removeCgroupSoon(this.#group));
  }

  get #reason(): string {
    return `it ran out of memory: its limit is ${formatMemory(this.bytes)}`;
  }

  #hasRunOut(): boolean {
    if (this.#group === null) return false;
    const group = this.#group;
    return KILLS.some((file) => /^oom_kill [1-9]/m.test(readOrEmpty(path.join(group, file))));
  }

  #usedBytes(): number {
    const pid = this.pid();
    return pid === null ? 0 : usedByTree(pid);
  }
}

function makeGroup(cgroup: string, bytes: number, pid: number | null, places?: CgroupPlaces): Promise<string | null> {
  const prepare = (folder: string): void => {
    const isUnified = fs.existsSync(path.join(folder, 'cgroup.controllers'));
    const [limit, swap] = isUnified ? UNIFIED_LIMITS : LIMITS;
    fs.writeFileSync(path.join(folder, limit), String(bytes));
    if (fs.existsSync(path.join(folder, swap))) limitSwap(path.join(folder, swap), bytes);
  };
  return joinCgroup('memory', cgroup, pid, prepare, places);
}

/** Version 1 limits the sum of memory and swap, version 2 swap alone. Kernels may lack both. */
function limitSwap(file: string, bytes: number): void {
  try {
    fs.writeFileSync(file, file.endsWith('swap.max') ? '0' : String(bytes));
  } catch {
    // The watchdog counts swap.
  }
}

/** Memory that belongs to the processes: pages of model files are shared, and the kernel can drop them. */
function usedByTree(pid: number): number {
  const status = readOrEmpty(`/proc/${pid}/status`);
  const own = [...status.matchAll(/^(?:RssAnon|RssShmem|VmSwap):\s+(\d+) kB$/gm)];
  const children = readOrEmpty(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);
  return (
    own.reduce((sum, [, kib]) => sum + Number(kib) * 1024, 0) +
    children.reduce((sum, each) => sum + usedByTree(each), 0)
  );
}
