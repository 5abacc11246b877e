/** CPU time and memory of a server and its child processes, read from Linux's /proc. */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { statFields, statusMiB, sumOverTree } from '../../test/support/process-tree.js';

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

/** User and system time of all threads, in seconds. */
export function cpuSeconds(pid: number): number {
  return sumOf(pid, (each) => {
    const fields = statFields(each);
    return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
  });
}

/** User and system time of all ended descendants, in seconds. */
export function cpuSecondsOfEnded(pid: number): number {
  const fields = statFields(pid);
  return (Number(fields[13]) + Number(fields[14])) / ticksPerSecond;
}

/** User and system time of the main threads, which run JavaScript in Node, in seconds. */
export function mainThreadSeconds(pid: number): number {
  return sumOf(pid, (each) => {
    return Number(fs.readFileSync(`/proc/${each}/task/${each}/schedstat`, 'utf8').split(' ')[0]) / 1e9;
  });
}

/** Current and peak resident memory in MB (10^6 bytes). A mapped file counts once for each process. */
export function residentMegabytes(pid: number): { now: number; peak: number } {
  const megabytes = (name: 'VmRSS' | 'VmHWM') => (sumOf(pid, (each) => statusMiB(each, name)) * 2 ** 20) / 1e6;
  return { now: megabytes('VmRSS'), peak: megabytes('VmHWM') };
}

/** Sums over a process and its descendants. */
function sumOf(pid: number, measure: (pid: number) => number): number {
  return pid === process.pid ? measure(pid) : sumOverTree(pid, measure);
}

/** Busy time of all CPUs since the machine started, in seconds. */
export function systemBusySeconds(): number {
  const line = fs.readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? '';
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = line.trim().split(/\s+/).slice(1).map(Number);
  return (user + nice + system + irq + softirq) / ticksPerSecond;
}
