/**
 * One app per data folder. The first process holds a lock, which the system releases when the process ends, and writes
 * down how to reach it for later starts.
 */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { openSqlite, type Sqlite } from '../sqlite.js';
import { type InstanceFile, removeInstance, writeInstance } from './instance-file.js';

export class InstanceLock {
  readonly #lock: Sqlite;
  readonly #folder: string;

  private constructor(lock: Sqlite, folder: string) {
    this.#lock = lock;
    this.#folder = folder;
  }

  /** Returns `null` if another process holds the lock. */
  static take(folder: string): InstanceLock | null {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const lock = openSqlite(path.join(folder, 'desktop.lock'));
    try {
      lock.exec('BEGIN EXCLUSIVE');
      // Remove the stale instance file of a killed process.
      removeInstance(folder);
      return new InstanceLock(lock, folder);
    } catch (error) {
      lock.close();
      if ((error as { code?: string }).code === 'SQLITE_BUSY') return null;
      throw error;
    }
  }

  announce(instance: InstanceFile): void {
    writeInstance(this.#folder, instance);
  }

  release(): void {
    removeInstance(this.#folder);
    this.#lock.close();
  }
}
