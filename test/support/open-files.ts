/** Takes from a process what it may open. Linux only. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { until } from './until.js';

/** From now on the process may open so many files and connections more than it has open. */
export function leaveFiles(pid: number, count: number): void {
  const open = new Set(readdirSync(`/proc/${pid}/fd`).map(Number));
  // Numbers below the limit are given, the lowest that is free first.
  let limit = 0;
  for (let left = count; open.has(limit) || left > 0; limit += 1) if (!open.has(limit)) left -= 1;
  setLimit(pid, String(limit));
}

/** A process that has just started opens and closes some files yet; what it closes after `leaveFiles` it may open again. */
export async function untilFilesSettle(pid: number): Promise<void> {
  let before = '';
  let sameSince = performance.now();
  await until(
    () => {
      const now = readdirSync(`/proc/${pid}/fd`).sort().join();
      if (now !== before) sameSince = performance.now();
      before = now;
      return performance.now() - sameSince > 1500;
    },
    'the same files stay open',
    60_000,
  );
}

/** As many as the system allows it. */
export function leaveAllFiles(pid: number): void {
  const [, hard = ''] = /^Max open files +\S+ +(\S+)/m.exec(readFileSync(`/proc/${pid}/limits`, 'utf8')) ?? [];
  setLimit(pid, hard);
}

function setLimit(pid: number, limit: string): void {
  const { status, stderr } = spawnSync('prlimit', ['--pid', String(pid), `--nofile=${limit}:`], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`prlimit: ${stderr}`);
}
