/**
 * The database file of a cloud: apps, keys, usage and other persistent state. Several processes may use it. Each part
 * of the cloud owns its tables and updates them with `migrate`.
 */
import path from 'node:path';
import { ChasquiError } from '../../errors.js';
import { BackgroundDatabase, type SqlValue } from '../../sqlite.js';

export type { SqlValue };

const FILE_NAME = 'cloud.db';

/** Opens or creates the database in `folder`. File and folder are private to this account. */
export function openDatabase(folder: string): Database {
  return new Database(path.join(path.resolve(folder), FILE_NAME));
}

/**
 * Methods throw `cloud_store_failed` if the file cannot be read or written. They run on the thread that relays tokens, so
 * commits do not wait for the disk. `synced()` waits, on another thread.
 */
export class Database extends BackgroundDatabase {
  readonly #dataVersion: { get(): unknown };

  constructor(file: string) {
    super(file, { code: 'cloud_store_failed', what: `Cannot use the cloud's database ${file}` });
    this.exec('PRAGMA foreign_keys = ON');
    this.exec(
      'CREATE TABLE IF NOT EXISTS migrations (room TEXT PRIMARY KEY, step INTEGER NOT NULL) STRICT, WITHOUT ROWID',
    );
    this.#dataVersion = this.orFail(() => this.connection.prepare('PRAGMA data_version'));
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

  /** Changes with every possible write by this process or another. Takes about 10 µs. */
  version(): string {
    return this.orFail(() => {
      const { data_version: version } = this.#dataVersion.get() as { data_version: number };
      return `${version}.${this.writes}`;
    });
  }
}
