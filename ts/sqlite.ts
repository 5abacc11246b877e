/**
 * SQLite, which is loaded when a database is first opened: its native part is an optional package of npm, and most
 * commands do without it.
 */
import { createRequire } from 'node:module';
import type Libsql from 'libsql';

export type Sqlite = InstanceType<typeof Libsql>;

export function openSqlite(file: string): Sqlite {
  const Database = createRequire(import.meta.url)('libsql') as typeof Libsql;
  return new Database(file);
}
