/**
 * Opens SQLite databases. The native package is loaded on first use, because it is optional and most commands do not need
 * it.
 */
import { createRequire } from 'node:module';
import type Libsql from 'libsql';

export type Sqlite = InstanceType<typeof Libsql>;

export function openSqlite(file: string): Sqlite {
  const Database = createRequire(import.meta.url)('libsql') as typeof Libsql;
  return new Database(file);
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
