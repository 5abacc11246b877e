/**
 * Opens SQLite databases. The native package is loaded on first use, because it is optional and most commands do not need
 * it.
 */
import { chmodSync, closeSync, mkdirSync, openSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type Libsql from 'libsql';

export type Sqlite = InstanceType<typeof Libsql>;

export function openSqlite(file: string): Sqlite {
  const Database = createRequire(import.meta.url)('libsql') as typeof Libsql;
  return new Database(file);
}

export interface AsyncSqlite {
  exec(sql: string): Promise<unknown>;
  close(): void;
}

/** An asynchronous connection: libsql runs its statements on another thread. */
export function openSqliteAsync(file: string): AsyncSqlite {
  const Database = createRequire(import.meta.url)('libsql/promise') as new (file: string) => AsyncSqlite;
  return new Database(file);
}

/** With a write-ahead log readers never wait. A writer waits this long for another one. */
const BUSY_TIMEOUT_MS = 5000;

/**
 * Opens or creates a database that several processes may use. File and folder are private to this account. A power loss
 * damages no file; with `NORMAL` it may lose the latest transactions.
 */
export function openPrivateSqlite(file: string, synchronous: 'NORMAL' | 'FULL'): Sqlite {
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  closeSync(openSync(file, 'a', 0o600));
  chmodSync(file, 0o600);
  const database = openSqlite(file);
  database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  database.exec('PRAGMA journal_mode = WAL');
  database.exec(`PRAGMA synchronous = ${synchronous}`);
  return database;
}

/** Writes the write-ahead log to the file first, so a copy of the file is complete. Closing alone does not. */
export function closeSqlite(database: Sqlite): void {
  try {
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch {
    // The disk is full, or another process writes. The log stays.
  }
  database.close();
}
