/**
 * The one database file of a cloud: apps, keys, usage and whatever else must outlast its process. Several processes may
 * use it at the same time. Each part of the cloud keeps its own tables and brings them up to date with `migrate`.
 */
import { chmodSync, closeSync, mkdirSync, openSync } from 'node:fs';
import path from 'node:path';
import { ChasquiError } from '../../errors.js';
import { openSqlite, type Sqlite } from '../../sqlite.js';

/** What a column holds, and what `?` in a statement stands for. */
export type SqlValue = string | number | bigint | Uint8Array | null;

const FILE_NAME = 'cloud.db';

/** Readers never wait in a database with a write-ahead log; a writer waits this long for another one. */
const BUSY_TIMEOUT_MS = 5000;

/** The file, in `folder`, which is made when it is not there; both are for this account's eyes only. */
export function openDatabase(folder: string): Database {
  const file = path.join(path.resolve(folder), FILE_NAME);
  return orFail(file, () => {
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    closeSync(openSync(file, 'a', 0o600));
    chmodSync(file, 0o600);
    return new Database(file);
  });
}

/** Methods throw `cloud_store_failed` when the file cannot be read or written. */
export class Database {
  readonly #connection: Sqlite;
  readonly #dataVersion: { get(): unknown };
  /** Transactions within transactions are parts of the outermost. */
  #depth = 0;
  #ownWrites = 0;

  constructor(readonly file: string) {
    this.#connection = openSqlite(file);
    this.#connection.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    this.#connection.exec('PRAGMA journal_mode = WAL');
    // With this a deployed app or a revoked key survives a loss of power at the next moment.
    this.#connection.exec('PRAGMA synchronous = FULL');
    this.#connection.exec('PRAGMA foreign_keys = ON');
    this.#connection.exec(
      'CREATE TABLE IF NOT EXISTS migrations (room TEXT PRIMARY KEY, step INTEGER NOT NULL) STRICT, WITHOUT ROWID',
    );
    this.#dataVersion = this.#connection.prepare('PRAGMA data_version');
  }

  /**
   * Takes the steps that the file has not been taken through yet, all or none. `room` names whose tables they make.
   * Steps that have been published are never changed; new ones are added at the end.
   */
  migrate(room: string, steps: readonly string[]): void {
    this.transaction(() => {
      const taken = this.get<{ step: number }>('SELECT step FROM migrations WHERE room = ?', [room])?.step ?? 0;
      if (taken > steps.length) {
        const message = `The database ${this.file} was written by a later version of chasqui: install that version.`;
        throw new ChasquiError('cloud_store_failed', message);
      }
      for (const step of steps.slice(taken)) this.#orFail(() => this.#connection.exec(step));
      this.run('INSERT OR REPLACE INTO migrations (room, step) VALUES (?, ?)', [room, steps.length]);
    });
  }

  all<Row>(sql: string, values: readonly SqlValue[] = []): Row[] {
    // A statement is prepared for each use: libsql's give rows of an earlier use when they are kept.
    return this.#orFail(() => this.#connection.prepare(sql).all([...values]) as Row[]);
  }

  get<Row>(sql: string, values: readonly SqlValue[] = []): Row | undefined {
    return this.all<Row>(sql, values)[0];
  }

  /** Returns the number of rows that it changed. */
  run(sql: string, values: readonly SqlValue[] = []): number {
    return this.#orFail(() => {
      this.#ownWrites++;
      return this.#connection.prepare(sql).run([...values]).changes;
    });
  }

  /** What `action` writes is there as a whole or, when it throws, not at all. */
  transaction<T>(action: () => T): T {
    if (this.#depth > 0) return action();
    this.#orFail(() => this.#connection.exec('BEGIN IMMEDIATE'));
    this.#depth++;
    try {
      const result = action();
      this.#orFail(() => this.#connection.exec('COMMIT'));
      return result;
    } catch (error) {
      if (this.#connection.inTransaction) this.#connection.exec('ROLLBACK');
      throw error;
    } finally {
      this.#depth--;
    }
  }

  /** Another text whenever something may have been written, by this process or another. Takes some 10 µs. */
  version(): string {
    return this.#orFail(() => {
      const { data_version: version } = this.#dataVersion.get() as { data_version: number };
      return `${version}.${this.#ownWrites}`;
    });
  }

  close(): void {
    this.#connection.close();
  }

  #orFail<T>(action: () => T): T {
    return orFail(this.file, action);
  }
}

function orFail<T>(file: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (error instanceof ChasquiError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    const message = `The cloud's database ${file} cannot be used: ${reason}.`;
    throw new ChasquiError('cloud_store_failed', message, null, { cause: error });
  }
}
