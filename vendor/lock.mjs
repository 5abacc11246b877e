import fs from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { say } from './progress.mjs';

const file = path.join(path.dirname(fileURLToPath(import.meta.url)), '.cache', 'lock');

/** Runs `work` while no other process sets up this clone; waits for one that does. */
export async function withSetupLock(work) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  let told = false;
  while (!tryLock()) {
    if (!told) say(`Waiting for another set-up or build of this clone to finish (${file}) ...`);
    told = true;
    await sleep(300);
  }
  try {
    return await work();
  } finally {
    fs.rmSync(file, { force: true });
  }
}

function tryLock() {
  try {
    fs.writeFileSync(file, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
  const owner = Number(readOwner());
  // A killed process leaves its lock. An empty one is being written just now.
  if (owner > 0 && !isAlive(owner)) fs.rmSync(file, { force: true });
  return false;
}

function readOwner() {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return '0';
  }
}

export function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
