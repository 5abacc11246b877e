/**
 * The database file of a cloud: apps, keys, usage and other persistent state. Several processes may use it. Each part
 * of the cloud owns its tables and updates them with `migrate`.
 */
import fs from 'node:fs';
import path from 'node:path';
import { ChasquiError } from '../../errors.js';
import { type AsyncSqlite, openSqliteAsync, PrivateDatabase, type SqlValue } from '../../sqlite.js';

export type { SqlValue };

const FILE_NAME = 'cloud.db';
/** A longer write-ahead log is copied to the file. SQLite's default is the same: 1,000 pages. */
const MAX_LOG_BYTES = 4_096_000;
const LOOK_AT_LOG_MS = 5000;

/** Opens or creates the database in `folder`. File and folder are private to this account. */
export function openDatabase(folder: string): Database {
  return new Database(path.join(path.resolve(folder), FILE_NAME));
}

/**
 * Methods throw `cloud_store_failed` if the file cannot be read or written. They run on the thread that relays tokens, so
 * commits do not wait for the disk: a crash of the process loses nothing, a power failure the last commits. `synced()`
 * waits, on another thread. Checkpoints also run on another thread.
 */
export class Database extends PrivateDatabase {
  readonly #dataVersion: { get(): unknown };
  #ownWrites = 0;
  #syncedWrites = 0;
  #checkpoints: AsyncSqlite | null = null;
  readonly #timer: NodeJS.Timeout;

  constructor(file: string) {
    super(file, { code: 'cloud_store_failed', what: `Cannot use the cloud's database ${file}` });
    this.exec('PRAGMA foreign_keys = ON');
    this.exec('PRAGMA wal_autocheckpoint = 0');
    this.exec(`PRAGMA journal_size_limit = ${MAX_LOG_BYTES}`);
    this.exec(
      'CREATE TABLE IF NOT EXISTS migrations (room TEXT PRIMARY KEY, step INTEGER NOT NULL) STRICT, WITHOUT ROWID',
    );
    this.#dataVersion = this.orFail(() => this.connection.prepare('PRAGMA data_version'));
    this.#timer = setInterval(() => this.#checkpoint(), LOOK_AT_LOG_MS).unref();
  }

  /**
   * Applies the missing steps in one transaction. `owner` names the part that owns the tables. Published steps never
   * change; new ones are appended.
   */
  migrate(owner: string, steps: readonly string[]): void {
    this.transaction(() => {
      const taken = this.get<{ step: number }>('SELECT step FROM migrations WHERE room = ?', [owner])?.step ?? 0;
      if (taken > steps.length) {
        const message = `The database ${this.file} was written by a newer version of chasqui. Install that version.`;
        throw new ChasquiError('cloud_store_failed', message);
      }
      for (const step of steps.slice(taken)) this.exec(step);
      this.run('INSERT OR REPLACE INTO migrations (room, step) VALUES (?, ?)', [owner, steps.length]);
    });
  }

  override run(sql: string, values: readonly SqlValue[] = []): number {
    this.#ownWrites++;
    return super.run(sql, values);
  }

  /** Resolves when all earlier commits are on the disk. */
  async synced(): Promise<void> {
    const writes = this.#ownWrites;
    if (writes === this.#syncedWrites) return;
    try {
      const log = await fs.promises.open(this.#logFile, 'r+');
      await log.datasync().finally(() => log.close());
    } catch (error) {
      this.orFail(() => {
        throw error;
      });
    }
    this.#syncedWrites = Math.max(this.#syncedWrites, writes);
  }

  /** Changes with every possible write by this process or another. Takes about 10 µs. */
  version(): string {
    return this.orFail(() => {
      const { data_version: version } = this.#dataVersion.get() as { data_version: number };
      return `${version}.${this.#ownWrites}`;
    });
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
    if ((fs.statSync(this.#logFile, { throwIfNoEntry: false })?.size ?? 0) <= MAX_LOG_BYTES) return;
    this.#checkpoints ??= openSqliteAsync(this.file);
    // If the disk is full, the log stays.
    this.#checkpoints.exec('PRAGMA wal_checkpoint(PASSIVE)').catch(() => undefined);
  }
}
