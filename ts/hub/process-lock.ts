/**
 * A lock that one process of this computer holds at a time. It is SQLite's: the system takes it back when its process
 * ends, however that comes about, so no lock is ever left behind, and none is taken from a process that still lives.
 */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSqlite, type Sqlite } from '../sqlite.js';

const POLL_MS = 300;

export class ProcessLock {
  readonly #database: Sqlite;

  private constructor(database: Sqlite) {
    this.#database = database;
  }

  /** `null` where another has it. The file is made where it is not there, and stays. */
  static tryTake(file: string): ProcessLock | null {
    mkdirSync(path.dirname(file), { recursive: true });
    const database = openSqlite(file);
    try {
      database.exec('BEGIN EXCLUSIVE');
      return new ProcessLock(database);
    } catch (error) {
      database.close();
      if ((error as { code?: string }).code?.startsWith('SQLITE_BUSY')) return null;
      throw error;
    }
  }

  /** Waits for it; `onWait` is called while another has it, again and again. */
  static async take(file: string, signal: AbortSignal, onWait: () => void): Promise<ProcessLock> {
    for (;;) {
      signal.throwIfAborted();
      const lock = ProcessLock.tryTake(file);
      if (lock !== null) return lock;
      onWait();
      await sleep(POLL_MS, undefined, { signal });
    }
  }

  release(): void {
    this.#database.close();
  }
}
