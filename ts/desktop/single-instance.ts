/**
 * There is one app for each data folder. The first holds a lock that the system lets go when its process ends, however it
 * ends, and writes down where it can be reached; a second start finds that.
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

  /** `null`: another process has it. */
  static take(folder: string): InstanceLock | null {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const lock = openSqlite(path.join(folder, 'desktop.lock'));
    try {
      lock.exec('BEGIN EXCLUSIVE');
      // Nobody can be reached at what an app left that was killed.
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
