/**
 * One app per data folder. The first process holds a lock, which the system releases when the process ends, and writes
 * down how to reach it for later starts.
 */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { ProcessLock } from '../hub/process-lock.js';
import { type InstanceFile, removeInstance, writeInstance } from './instance-file.js';

export class InstanceLock {
  readonly #lock: ProcessLock;
  readonly #folder: string;

  private constructor(lock: ProcessLock, folder: string) {
    this.#lock = lock;
    this.#folder = folder;
  }

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
    writeInstance(this.#folder, instance);
  }

  release(): void {
    removeInstance(this.#folder);
    this.#lock.release();
  }
}
