/** Folders for hollow copies. Whoever is killed leaves one, which the next who starts, or makes another, removes. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ProcessLock } from './process-lock.js';

const PREFIX = 'chasqui-fit-';
/** A folder is made before it is locked. */
const YOUNG_MS = 60_000;

export interface HollowFolder {
  path: string;
  remove(): void;
}

export function makeHollowFolder(): HollowFolder {
  removeLeftFolders();
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), PREFIX));
  const lock = ProcessLock.tryTake(lockIn(folder));
  return {
    path: folder,
    remove: () => {
      lock?.release();
      fs.rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Removes those whose processes are gone. Never throws: what cannot be removed is left to the system. */
export function removeLeftFolders(): void {
  for (const name of namesIn(os.tmpdir())) if (name.startsWith(PREFIX)) removeIfLeft(path.join(os.tmpdir(), name));
}

/** Somebody else's is left alone. */
function removeIfLeft(folder: string): void {
  try {
    const stat = fs.lstatSync(folder);
    const isOwn = stat.isDirectory() && (process.getuid === undefined || stat.uid === process.getuid());
    if (!isOwn || Date.now() - stat.mtimeMs < YOUNG_MS) return;
    const lock = ProcessLock.tryTake(lockIn(folder));
    if (lock === null) return;
    lock.release();
    fs.rmSync(folder, { recursive: true, force: true });
  } catch {
    // Another process removes it in this moment, or nobody can.
  }
}

function namesIn(folder: string): string[] {
  try {
    return fs.readdirSync(folder);
  } catch {
    return [];
  }
}

function lockIn(folder: string): string {
  return path.join(folder, 'lock');
}
