/**
 * One app per data folder. The first process holds a lock, which the system releases when the process ends, and writes
 * down how to reach it for later starts.
 */
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ProcessLock } from '../hub/process-lock.js';

export class InstanceLock {
  private constructor(
    private readonly lock: ProcessLock,
    private readonly folder: string,
  ) {}

  /** Returns `null` if another process holds the lock. */
  static take(folder: string): InstanceLock | null {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const lock = ProcessLock.tryTake(path.join(folder, 'desktop.lock'));
    if (lock === null) return null;
    try {
      // Remove the stale instance file of a killed process.
      removeInstance(folder);
      return new InstanceLock(lock, folder);
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  announce(instance: InstanceFile): void {
    writeInstance(this.folder, instance);
  }

  release(): void {
    removeInstance(this.folder);
    this.lock.release();
  }
}

export interface InstanceFile {
  /** URL of the app's own port, without the token. */
  url: string;
  port: number;
  pid: number;
  token: string;
}

export function writeInstance(folder: string, instance: InstanceFile): void {
  const file = fileIn(folder);
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify(instance, null, 2)}\n`, { mode: 0o600 });
  chmodSync(draft, 0o600);
  renameSync(draft, file);
}

export function removeInstance(folder: string): void {
  rmSync(fileIn(folder), { force: true });
}

/** Returns `null` if no app is running or it is still starting. */
export function findInstance(folder: string): InstanceFile | null {
  try {
    const { url, port, pid, token } = JSON.parse(readFileSync(fileIn(folder), 'utf8')) as InstanceFile;
    return { url, port, pid, token };
  } catch {
    return null;
  }
}

function fileIn(folder: string): string {
  return path.join(folder, 'desktop.json');
}
