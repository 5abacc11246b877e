/** A process and those that it has started, such as a server and the process of its engine, as Linux's /proc has them. */
import { readdirSync, readFileSync } from 'node:fs';

/** `pid` and all that descend from it. */
export function processTree(pid: number): number[] {
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const parents = new Map(processes.map((name) => [Number(name), parentOf(Number(name))]));
  const isInTree = (each: number): boolean => {
    const parent = parents.get(each) ?? 0;
    return each === pid || (parent > 1 && isInTree(parent));
  };
  return [...parents.keys()].filter(isInTree);
}

/** Sums a measurement over a process tree. Processes that end meanwhile count as 0. */
export function sumOverTree(pid: number, measure: (pid: number) => number): number {
  return processTree(pid).reduce((sum, each) => sum + (orNone(() => measure(each)) ?? 0), 0);
}

/** 0 when the process is gone. */
export function parentOf(pid: number): number {
  return Number(orNone(() => statFields(pid)[1]) ?? 0);
}

/** State, parent and so on: all that follows the name, which stands in brackets and may have spaces. */
export function statFields(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** What /proc/<pid>/status has under this name, in MiB: VmRSS is the memory it holds, VmHWM the most that it ever held. */
export function statusMiB(pid: number, name: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0) / 1024;
}

function orNone<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
