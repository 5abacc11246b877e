/** The app's SQLite database in the data folder, readable by this account only. */
import path from 'node:path';
import { onStore } from '../../errors.js';
import { openPrivateSqlite, type Sqlite } from '../../sqlite.js';
import { MIGRATIONS } from './migrations.js';

export type SqlValue = string | number | null;

/** 4 GiB with pages of 4 KiB: chats contain images. */
const MAX_PAGES = 2 ** 20;

/** Methods throw `store_failed` on read or write errors. */
export class Store {
  readonly #database: Sqlite;

  private constructor(private readonly file: string) {
    this.#database = openPrivateSqlite(file, 'NORMAL');
    this.#database.exec('PRAGMA foreign_keys = ON');
    this.#database.exec(`PRAGMA max_page_count = ${MAX_PAGES}`);
  }

  /** Opens `desktop.db`; creates the folder and file if needed. */
  static open(folder: string): Store {
    const file = path.join(path.resolve(folder), 'desktop.db');
    return orFail(file, () => {
      const store = new Store(file);
      store.#migrate();
      return store;
    });
  }

  /** Decodes BLOBs as UTF-8: all columns are text or numbers. */
  rows<Row>(sql: string, ...values: SqlValue[]): Row[] {
    const rows = orFail(this.file, () => this.#database.prepare(sql).all(values) as Record<string, unknown>[]);
    return rows.map((row) => decoded(row) as Row);
  }

  run(sql: string, ...values: SqlValue[]): number {
    return orFail(this.file, () => this.#database.prepare(sql).run(values).changes);
  }

  /** Rolls back if `action` throws. */
  transaction<Result>(work: () => Result): Result {
    orFail(this.file, () => this.#database.exec('BEGIN IMMEDIATE'));
    try {
      const result = work();
      orFail(this.file, () => this.#database.exec('COMMIT'));
      return result;
    } catch (error) {
      // SQLite rolls back by itself after some errors.
      if (this.#database.inTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  close(): void {
    this.#database.close();
  }

  /** `user_version` is the number of applied migrations. */
  #migrate(): void {
    const [{ user_version: version } = { user_version: 0 }] = this.rows<{ user_version: number }>(
      'PRAGMA user_version',
    );
    if (version > MIGRATIONS.length) {
      throw new Error(`it was written by a newer version of chasqui (schema ${version})`);
    }
    for (const [index, sql] of MIGRATIONS.entries()) {
      if (index < version) continue;
      this.transaction(() => this.#database.exec(`${sql}; PRAGMA user_version = ${index + 1}`));
    }
  }
}

function decoded(row: Record<string, unknown>): Record<string, unknown> {
  for (const [name, value] of Object.entries(row)) {
    if (value instanceof ArrayBuffer) row[name] = Buffer.from(value).toString();
  }
  return row;
}

function orFail<Result>(file: string, action: () => Result): Result {
  return onStore('store_failed', `Cannot use the app's database ${file}`, action);
}
