/**
 * Opens SQLite databases. The native package is loaded on first use, because it is optional and most commands do not need
 * it.
 */
import { chmodSync, closeSync, mkdirSync, openSync, promises, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type Libsql from 'libsql';
import { onStore, type StoreError } from './errors.js';

export type Sqlite = InstanceType<typeof Libsql>;

export type SqlValue = string | number | bigint | Uint8Array | null;

export function openSqlite(file: string): Sqlite {
  const Database = createRequire(import.meta.url)('libsql') as typeof Libsql;
  return new Database(file);
}

interface AsyncSqlite {
  exec(sql: string): Promise<unknown>;
  close(): void;
}

/** An asynchronous connection: libsql runs its statements on another thread. */
function openSqliteAsync(file: string): AsyncSqlite {
  const Database = createRequire(import.meta.url)('libsql/promise') as new (file: string) => AsyncSqlite;
  return new Database(file);
}

/** With a write-ahead log readers never wait. A writer waits this long for another one. */
const BUSY_TIMEOUT_MS = 5000;

/**
 * Opens or creates a database that several processes may use. File and folder are private to this account. A power loss
 * damages no file; with `NORMAL` it may lose the latest transactions.
 */
function openPrivateSqlite(file: string, synchronous: 'NORMAL' | 'FULL'): Sqlite {
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
function closeSqlite(database: Sqlite): void {
  try {
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch {
    // The disk is full, or another process writes. The log stays.
  }
  database.close();
}

export interface PrivateDatabaseSettings {
  /** The code of failures, and the beginning of their messages. */
  code: StoreError;
  what: string;
  synchronous?: 'NORMAL' | 'FULL';
}

/** A private database. Methods throw an error with the code of the settings if the file cannot be read or written. */
export class PrivateDatabase {
  readonly connection: Sqlite;
  /** Nested transactions join the outermost. */
  #depth = 0;

  constructor(
    readonly file: string,
    private readonly settings: PrivateDatabaseSettings,
  ) {
    this.connection = this.orFail(() => openPrivateSqlite(file, settings.synchronous ?? 'NORMAL'));
  }

  exec(sql: string): void {
    this.orFail(() => this.connection.exec(sql));
  }

  all<Row>(sql: string, values: readonly SqlValue[] = []): Row[] {
    // Prepare per call: a kept libsql statement returns rows of its earlier use.
    return this.orFail(() => this.connection.prepare(sql).all([...values]) as Row[]);
  }

  get<Row>(sql: string, values: readonly SqlValue[] = []): Row | undefined {
    return this.all<Row>(sql, values)[0];
  }

  /** Returns the number of changed rows. */
  run(sql: string, values: readonly SqlValue[] = []): number {
    return this.orFail(() => this.connection.prepare(sql).run([...values]).changes);
  }

  /** Commits the writes of `action`, or rolls them back if it throws. */
  transaction<T>(action: () => T): T {
    if (this.#depth > 0) return action();
    this.exec('BEGIN IMMEDIATE');
    this.#depth++;
    try {
      const result = action();
      this.exec('COMMIT');
      return result;
    } catch (error) {
      // SQLite rolls back by itself after some errors.
      if (this.connection.inTransaction) this.connection.exec('ROLLBACK');
      throw error;
    } finally {
      this.#depth--;
    }
  }

  close(): void {
    closeSqlite(this.connection);
  }

  orFail<T>(action: () => T): T {
    return onStore(this.settings.code, this.settings.what, action);
  }
}

/** A longer write-ahead log is copied to the file. SQLite's default is the same: 1,000 pages. */
const MAX_LOG_BYTES = 4_096_000;
const LOOK_AT_LOG_MS = 5000;

/**
 * A private database whose commits do not wait for the disk. A crash of the process loses nothing. A power failure may lose
 * the last commits. `synced` and checkpoints run on other threads.
 */
export class BackgroundDatabase extends PrivateDatabase {
  #writes = 0;
  #syncedWrites = 0;
  #checkpoints: AsyncSqlite | null = null;
  readonly #timer: NodeJS.Timeout;

  constructor(file: string, settings: Omit<PrivateDatabaseSettings, 'synchronous'>) {
    super(file, settings);
    this.exec('PRAGMA wal_autocheckpoint = 0');
    this.exec(`PRAGMA journal_size_limit = ${MAX_LOG_BYTES}`);
    this.#timer = setInterval(() => this.#checkpoint(), LOOK_AT_LOG_MS).unref();
  }

  /** Number of calls of `run`. */
  get writes(): number {
    return this.#writes;
  }

  override run(sql: string, values: readonly SqlValue[] = []): number {
    this.#writes++;
    return super.run(sql, values);
  }

  /** Resolves when all earlier commits are on the disk. */
  async synced(): Promise<void> {
    const writes = this.#writes;
    if (writes === this.#syncedWrites) return;
    try {
      const log = await promises.open(this.#logFile, 'r+');
      await log.datasync().finally(() => log.close());
    } catch (error) {
      this.orFail(() => {
        throw error;
      });
    }
    this.#syncedWrites = Math.max(this.#syncedWrites, writes);
  }

  override close(): void {
    clearInterval(this.#timer);
    this.#checkpoints?.close();
    super.close();
  }

  get #logFile(): string {
    return `${this.file}-wal`;
  }

  #checkpoint(): void {
    if ((statSync(this.#logFile, { throwIfNoEntry: false })?.size ?? 0) <= MAX_LOG_BYTES) return;
    this.#checkpoints ??= openSqliteAsync(this.file);
    // If the disk is full, the log stays.
    this.#checkpoints.exec('PRAGMA wal_checkpoint(PASSIVE)').catch(() => undefined);
  }
}
