/**
 * A lock that one process of this computer holds at a time. It is an SQLite lock, which the system releases when the
 * process ends in any way, so locks are never stale.
 */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSqlite, type Sqlite } from '../sqlite.js';

const POLL_MS = 300;

export class ProcessLock {
  private constructor(private readonly database: Sqlite) {}

  /** Returns `null` if another process holds it. Creates the file if needed and never deletes it. */
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

  /** Waits for the lock, and calls `onWait` at each poll while another process holds it. */
  static async take(file: string, signal: AbortSignal, onWait: () => void, pollMs = POLL_MS): Promise<ProcessLock> {
    for (;;) {
      signal.throwIfAborted();
      const lock = ProcessLock.tryTake(file);
      if (lock !== null) return lock;
      onWait();
      await sleep(pollMs, undefined, { signal });
    }
  }

  release(): void {
    this.database.close();
  }
}
