/**
 * Shares of the CPUs: the control plane comes first, then organisations with waiting clients, in equal parts. All else, such
 * as starts for deployments, gets an eighth of such a part. Linux only.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type CgroupPlaces, CONTROL_PLANE, joinCgroup, removeCgroupSoon } from './cgroups.js';

/** An organisation competes with other processes like one thread on each CPU, as a single runner without a group would. */
const CPUS = os.availableParallelism();
/** The files of versions 1 and 2 of cgroups, with the weight of one thread and the kernel's maximum. */
const WEIGHTS = [
  { file: 'cpu.shares', one: 1024, max: 262_144 },
  { file: 'cpu.weight', one: 100, max: 10_000 },
];
const WITHOUT_CLIENTS = 1 / 8;
/** Without cgroups, a thread of a runner gets a third of the time of one of the control plane. */
const NICENESS = 5;

/** Gives this process the largest weight. The group stays for the next control plane. Returns false without permission for cgroups. */
export async function prioritizeControlPlane(places?: CgroupPlaces): Promise<boolean> {
  const prepare = (folder: string): void => weigh(folder, Number.POSITIVE_INFINITY);
  return (await joinCgroup('cpu', CONTROL_PLANE, process.pid, prepare, places)) !== null;
}

export class CpuShare {
  /** Resolves when the process is in its group, or has the lower priority. */
  readonly joined: Promise<void>;
  #folder: string | null = null;
  #hasClients = true;

  constructor(cgroup: string, pid: number, places?: CgroupPlaces) {
    const prepare = (folder: string): void => weigh(path.dirname(folder), CPUS);
    this.joined = joinCgroup('cpu', cgroup, pid, prepare, places).then((folder) => {
      this.#folder = folder;
      if (folder === null) lowerPriority(pid);
    });
  }

  /** Weighs the whole organisation. */
  setHasClients(hasClients: boolean): void {
    if (this.#folder === null || this.#hasClients === hasClients) return;
    this.#hasClients = hasClients;
    try {
      weigh(path.dirname(this.#folder), hasClients ? CPUS : CPUS * WITHOUT_CLIENTS);
    } catch {
      // The runner has just ended.
    }
  }

  close(): void {
    void this.joined.then(() => removeCgroupSoon(this.#folder));
  }
}

/** `threads`: the weight, in threads of the default priority. */
function weigh(group: string, threads: number): void {
  const found = WEIGHTS.find(({ file }) => fs.existsSync(path.join(group, file)));
  if (found === undefined) throw new Error('The controller `cpu` is not available.');
  fs.writeFileSync(path.join(group, found.file), String(Math.round(Math.min(found.one * threads, found.max))));
}

/** Threads that the process starts later inherit its niceness. */
function lowerPriority(pid: number): void {
  const niceness = Math.min(os.getPriority() + NICENESS, os.constants.priority.PRIORITY_LOW);
  try {
    os.setPriority(pid, niceness);
    // The kernel compares niceness within a session only, and sessions by their own.
    fs.writeFileSync(`/proc/${pid}/autogroup`, String(niceness));
  } catch {
    // The kernel has no such groups, or the process has ended.
  }
}
