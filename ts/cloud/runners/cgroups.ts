/** Control groups below that of the cloud: one for each organisation, and in it one for each of its runners. Linux only. */
import fs from 'node:fs';
import path from 'node:path';

const ROOT = '/sys/fs/cgroup';
/** Time for the child processes of an ended runner to end. */
const ENDING_MS = 2000;

export type Controller = 'cpu' | 'memory';

/** A runner's group, relative to that of the cloud. Two clouds of one account share the group of an organisation. */
export function runnerCgroup(organisation: string, runnerId: string): string {
  return path.join(`chasqui-org-${organisation}`, `chasqui-${runnerId}`);
}

/**
 * Creates the group of a controller, which may exist from an earlier control plane, and moves the process into it.
 *
 * @param prepare throws if the group lacks the files of the controller
 * @returns the folder of the group, or null if this account may not create it
 */
export function joinCgroup(
  controller: Controller,
  name: string,
  pid: number | null,
  prepare: (folder: string) => void,
): string | null {
  const own = readOrEmpty('/proc/self/cgroup');
  // Version 2 has one hierarchy for all controllers.
  const versions = [
    { line: new RegExp(`^\\d+:(?:\\S+,)?${controller}(?:,\\S+)?:(.+)$`, 'm'), root: path.join(ROOT, controller) },
    { line: /^0::(.+)$/m, root: ROOT },
  ];
  for (const { line, root } of versions) {
    const [, parent] = line.exec(own) ?? [];
    if (parent === undefined) continue;
    const folder = path.join(root, parent, name);
    try {
      fs.mkdirSync(folder, { recursive: true });
      if (root === ROOT) enableControllers(path.dirname(folder));
      prepare(folder);
      if (pid !== null) fs.writeFileSync(path.join(folder, 'cgroup.procs'), String(pid));
      return folder;
    } catch {
      removeCgroup(folder);
    }
  }
  return null;
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
    try {
      fs.writeFileSync(path.join(folder, 'cgroup.subtree_control'), `+${controller}`);
    } catch {
      // `prepare` detects missing files.
    }
  }
}
