/**
 * Control groups below that of the cloud: one for the control plane, one for each organisation, and in it one for each of
 * its runners. Linux only.
 */
import fs from 'node:fs';
import path from 'node:path';

/** Tests replace these places. */
export interface CgroupPlaces {
  readonly root: string;
  /** The file that names the groups of this process. */
  readonly own: string;
}

const PLACES: CgroupPlaces = { root: '/sys/fs/cgroup', own: '/proc/self/cgroup' };
export const CONTROL_PLANE = 'chasqui-control-plane';
/** In version 2, a group with limits for its children has no processes of its own, so the control plane moves to a child. */
const OWN_CHILD = new RegExp(`/${CONTROL_PLANE}$`);
/** Time for the child processes of an ended runner to end. */
const ENDING_MS = 2000;

export type Controller = 'cpu' | 'memory';

/** A runner's group, relative to that of the cloud. Two clouds of one account share the group of an organisation. */
export function runnerCgroup(organisation: string, runnerId: string): string {
  return path.join(`chasqui-org-${organisation}`, `chasqui-${runnerId}`);
}

/**
 * Creates the group of a controller, which may exist from an earlier control plane, and moves the process into it. The kernel
 * takes 10 to 20 ms for a move, so it runs on another thread.
 *
 * @param prepare throws if the group lacks the files of the controller
 * @returns the folder of the group, or null if this account may not create it
 */
export async function joinCgroup(
  controller: Controller,
  name: string,
  pid: number | null,
  prepare: (folder: string) => void,
  { root, own }: CgroupPlaces = PLACES,
): Promise<string | null> {
  const groups = readOrEmpty(own);
  // Version 2 has one hierarchy for all controllers.
  const versions = [
    { line: new RegExp(`^\\d+:(?:\\S+,)?${controller}(?:,\\S+)?:(.+)$`, 'm'), base: path.join(root, controller) },
    { line: /^0::(.+)$/m, base: root },
  ];
  for (const { line, base } of versions) {
    const [, group] = line.exec(groups) ?? [];
    if (group === undefined) continue;
    // Hybrid systems have version 2 elsewhere and without controllers, and a plain folder at `root`.
    const parent = path.join(base, group.replace(OWN_CHILD, ''));
    if (base === root && !fs.existsSync(path.join(parent, 'cgroup.controllers'))) continue;
    const folder = path.join(parent, name);
    try {
      fs.mkdirSync(folder, { recursive: true });
      if (pid !== null) await moveTo(folder, pid);
      if (base === root) enableControllers(path.dirname(folder));
      prepare(folder);
      return folder;
    } catch {
      if (pid !== null) await moveTo(path.join(base, group), pid).catch(() => undefined);
      removeCgroup(folder);
    }
  }
  return null;
}

function moveTo(folder: string, pid: number): Promise<void> {
  return fs.promises.writeFile(path.join(folder, 'cgroup.procs'), String(pid));
}

/**
 * Removes the group of a runner, and that of its organisation after the last one. Tries again later, because child processes
 * may still be ending.
 */
export function removeCgroupSoon(folder: string | null): void {
  if (folder === null) return;
  removeCgroup(folder);
  if (fs.existsSync(folder)) setTimeout(() => removeCgroup(folder), ENDING_MS).unref();
}

function removeCgroup(folder: string): void {
  try {
    fs.rmdirSync(folder);
    fs.rmdirSync(path.dirname(folder));
  } catch {
    // It does not exist, or has processes or other groups.
  }
}

export function readOrEmpty(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** Each controller separately: a write with an unavailable one changes nothing. */
function enableControllers(folder: string): void {
  for (const controller of ['cpu', 'memory'] satisfies Controller[]) {
    // `prepare` detects missing files.
    attempt(() => fs.writeFileSync(path.join(folder, 'cgroup.subtree_control'), `+${controller}`));
  }
}

function attempt(action: () => void): void {
  try {
    action();
  } catch {
    // This account may not do it.
  }
}
