/** The app's SQLite database in the data folder, readable by this account only. */
import path from 'node:path';
import { PrivateDatabase } from '../../sqlite.js';
import { MIGRATIONS } from './migrations.js';

export type SqlValue = string | number | null;

/** 4 GiB with pages of 4 KiB: chats contain images. */
const MAX_PAGES = 2 ** 20;

/** Methods throw `store_failed` on read or write errors. */
export class Store {
  readonly #database: PrivateDatabase;

  private constructor(file: string) {
    this.#database = new PrivateDatabase(file, { code: 'store_failed', what: `Cannot use the app's database ${file}` });
    this.#database.exec('PRAGMA foreign_keys = ON');
    this.#database.exec(`PRAGMA max_page_count = ${MAX_PAGES}`);
    this.#database.orFail(() => this.#migrate());
  }

  /** Opens `desktop.db`; creates the folder and file if needed. */
  static open(folder: string): Store {
    return new Store(path.join(path.resolve(folder), 'desktop.db'));
  }

  /** Decodes BLOBs as UTF-8: all columns are text or numbers. */
  rows<Row>(sql: string, ...values: SqlValue[]): Row[] {
    return this.#database.all<Record<string, unknown>>(sql, values).map((row) => decoded(row) as Row);
  }

  run(sql: string, ...values: SqlValue[]): number {
    return this.#database.run(sql, values);
  }

  /** Rolls back if `action` throws. */
  transaction<Result>(action: () => Result): Result {
    return this.#database.transaction(action);
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
