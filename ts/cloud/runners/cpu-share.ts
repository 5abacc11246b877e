/**
 * The share of a runner in the CPUs. Organisations have groups of equal weight, so a busy one cannot slow down others by the
 * number of its runners and threads. Linux only.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { joinCgroup, removeCgroupSoon } from './cgroups.js';

/** An organisation competes with other processes like one thread on each CPU, as a single runner without a group would. */
const CPUS = os.availableParallelism();
/** The files of versions 1 and 2 of cgroups, with the weight of one thread and the kernel's maximum. */
const WEIGHTS = [
  { file: 'cpu.shares', one: 1024, max: 262_144 },
  { file: 'cpu.weight', one: 100, max: 10_000 },
];

export class CpuShare {
  readonly #folder: string | null;

  /** Without permission for cgroups, the kernel divides the CPUs between threads. */
  constructor(cgroup: string, pid: number) {
    this.#folder = joinCgroup('cpu', cgroup, pid, (folder) => weigh(path.dirname(folder)));
  }

  close(): void {
    removeCgroupSoon(this.#folder);
  }
}

function weigh(organisation: string): void {
  const found = WEIGHTS.find(({ file }) => fs.existsSync(path.join(organisation, file)));
  if (found === undefined) throw new Error('The controller `cpu` is not available.');
  fs.writeFileSync(path.join(organisation, found.file), String(Math.min(found.one * CPUS, found.max)));
}
