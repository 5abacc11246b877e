/** Finds the processes of a server's engines, and breaks them. Linux only. */
import { readdirSync, readFileSync } from 'node:fs';
import * as assert from 'uvu/assert';
import { parentOf, statusMiB } from './process-tree.js';
import { until } from './until.js';

const shortDelays = `--import=${new URL('./short-delays.mjs', import.meta.url).href}`;
/** Variables of a server: engines that failed are started again soon. */
export const SHORT_DELAYS = { NODE_OPTIONS: [process.env.NODE_OPTIONS, shortDelays].filter(Boolean).join(' ') };

/** Process ids of the engines with the parent `pid`. */
export function enginesOf(pid: number): number[] {
  return childrenOf(pid, 'engine/child/main');
}

/** The processes that prepare requests for them. */
export function preparationsOf(pid: number): number[] {
  return childrenOf(pid, 'engine/child/preparation-main');
}

export function untilEngineOf(pid: number, other?: number): Promise<number> {
  return untilFound(() => enginesOf(pid), 'a process for the engine', other);
}

export function untilPreparationOf(pid: number, other?: number): Promise<number> {
  return untilFound(() => preparationsOf(pid), 'a process that prepares requests', other);
}

function childrenOf(pid: number, script: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((each) => parentOf(each) === pid && commandOf(each).includes(script));
}

async function untilFound(list: () => number[], what: string, other: number | undefined): Promise<number> {
  let found: number | undefined;
  await until(
    () => {
      found = list().find((each) => each !== other);
      return found !== undefined;
    },
    what,
    30_000,
  );
  return found as number;
}

/** Neither gone nor waiting to be forgotten. */
export function isAlive(pid: number): boolean {
  const [, state = ''] = /\) (\w) /.exec(read(`/proc/${pid}/stat`)) ?? [];
  return !['', 'Z', 'X'].includes(state);
}

export function residentMiB(pid: number): number {
  return statusMiB(pid, 'VmRSS');
}

export function openDescriptors(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** A snapshot of the resources of a process, to detect leaks. */
export class Holdings {
  readonly #pid: number;
  readonly #memoryMiB: number;
  readonly #descriptors: number;

  constructor(pid: number) {
    this.#pid = pid;
    this.#memoryMiB = residentMiB(pid);
    this.#descriptors = openDescriptors(pid);
  }

  /** Connections take a moment to go, and the heap keeps what it has grown by. */
  async expectFlat(who: string): Promise<void> {
    await until(() => openDescriptors(this.#pid) <= this.#descriptors + 8, `descriptors of ${who} as before`);
    const memory = residentMiB(this.#pid);
    assert.ok(memory < this.#memoryMiB + 100, `${who}: ${memory} MiB, ${this.#memoryMiB} before`);
  }
}

function commandOf(pid: number): string {
  return read(`/proc/${pid}/cmdline`);
}

/** Empty when the process is gone. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
