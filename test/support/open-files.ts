/** Takes from a process what it may open. Linux only. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** Lets the process open `count` files and connections more. With 0 it cannot even reopen those that it closes. */
export function leaveFiles(pid: number, count: number): void {
  if (count === 0) {
    // Descriptor 0 remains open. A limit of 0 would make poll(2) fail.
    setLimit(pid, '1');
    return;
  }
  const open = new Set(readdirSync(`/proc/${pid}/fd`).map(Number));
  // Numbers below the limit are given, the lowest that is free first.
  let limit = 0;
  for (let left = count; open.has(limit) || left > 0; limit += 1) if (!open.has(limit)) left -= 1;
  setLimit(pid, String(limit));
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
