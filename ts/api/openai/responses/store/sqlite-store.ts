/** Stored responses in a database in the data folder, readable by this account only. */
import path from 'node:path';
import { replaceLoneSurrogates } from '../../../../engine/job.js';
import { onStore } from '../../../../errors.js';
import { closeSqlite, openPrivateSqlite, type Sqlite } from '../../../../sqlite.js';
import {
  asConversation,
  DISK_LIMITS,
  idOf,
  itemIdsOf,
  type ResponseStore,
  type Stored,
  type StoredConversation,
  type StoreLimits,
} from './response-store.js';

/**
 * Conversations are rows among the responses. Texts have a table of their own, because frequent queries do not need
 * them. Triggers keep sums, items and texts consistent.
 */
const SCHEMA = `
CREATE TABLE IF NOT EXISTS responses (
  owner TEXT NOT NULL, id TEXT NOT NULL, bytes INTEGER NOT NULL,
  used_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, PRIMARY KEY (owner, id));
CREATE INDEX IF NOT EXISTS responses_by_use ON responses (owner, used_at);
CREATE INDEX IF NOT EXISTS responses_by_expiry ON responses (expires_at);
CREATE TABLE IF NOT EXISTS texts (
  owner TEXT NOT NULL, id TEXT NOT NULL, json TEXT NOT NULL, PRIMARY KEY (owner, id));
CREATE TABLE IF NOT EXISTS holders (
  owner TEXT NOT NULL, item TEXT NOT NULL, id TEXT NOT NULL, is_response INTEGER NOT NULL, PRIMARY KEY (owner, item, id));
CREATE INDEX IF NOT EXISTS holders_by_id ON holders (owner, id);
CREATE TABLE IF NOT EXISTS owners (
  owner TEXT NOT NULL PRIMARY KEY, count INTEGER NOT NULL, bytes INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS owners_by_bytes ON owners (bytes DESC);
CREATE TABLE IF NOT EXISTS total (count INTEGER NOT NULL, bytes INTEGER NOT NULL);
INSERT INTO total SELECT count, bytes
  FROM (SELECT count(*) AS count, coalesce(sum(bytes), 0) AS bytes FROM responses)
  WHERE NOT EXISTS (SELECT 1 FROM total);
CREATE TRIGGER IF NOT EXISTS total_grows AFTER INSERT ON responses BEGIN
  UPDATE total SET count = count + 1, bytes = bytes + new.bytes; END;
CREATE TRIGGER IF NOT EXISTS total_shrinks AFTER DELETE ON responses BEGIN
  UPDATE total SET count = count - 1, bytes = bytes - old.bytes; END;
CREATE TRIGGER IF NOT EXISTS response_begins AFTER INSERT ON responses BEGIN
  INSERT INTO owners VALUES (new.owner, 1, new.bytes)
    ON CONFLICT (owner) DO UPDATE SET count = count + 1, bytes = bytes + new.bytes; END;
CREATE TRIGGER IF NOT EXISTS response_ends AFTER DELETE ON responses BEGIN
  DELETE FROM texts WHERE owner = old.owner AND id = old.id;
  DELETE FROM holders WHERE owner = old.owner AND id = old.id;
  UPDATE owners SET count = count - 1, bytes = bytes - old.bytes WHERE owner = old.owner;
  DELETE FROM owners WHERE owner = old.owner AND count = 0; END;
`;

/** Migrates a database that stores only the last response of each item. */
const TAKE_OVER_ITEMS = `
INSERT OR IGNORE INTO holders SELECT owner, id, response, response NOT LIKE 'conv%' FROM items;
DROP TRIGGER response_ends;
DROP TABLE items;
`;

/** Methods throw `store_failed` if the file cannot be read or written. */
export class SqliteStore implements ResponseStore {
  readonly #database: Sqlite;

  private constructor(
    private readonly file: string,
    private readonly limits: StoreLimits,
    private readonly now: () => number,
  ) {
    this.#database = openPrivateSqlite(file, 'NORMAL');
    this.#inTransaction(() => {
      this.#database.exec(SCHEMA);
      if (this.#rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'items'").length === 0) return;
      this.#database.exec(TAKE_OVER_ITEMS);
      this.#database.exec(SCHEMA);
    });
  }

  /** Opens `responses.db` in the folder. Creates both if necessary. */
  static open(folder: string, limits: StoreLimits = DISK_LIMITS, now: () => number = Date.now): SqliteStore {
    const file = path.join(path.resolve(folder), 'responses.db');
    return orFail(file, () => new SqliteStore(file, limits, now));
  }

  put(owner: string, stored: Stored): void {
    this.#inTransaction(() => this.#write(owner, stored));
  }

  read(owner: string, id: string): Stored | null {
    return orFail(this.file, () => this.#read(owner, id));
  }

  list(owner: string, prefix: string): Stored[] {
    const sql =
      'SELECT json FROM texts JOIN responses USING (owner, id) ' +
      'WHERE owner = ? AND id >= ? AND id < ? AND expires_at > ?';
    // Ids are ASCII, so they sort before this character.
    const end = `${prefix}\u{7f}`;
    const rows = orFail(this.file, () => this.#rows<{ json: string }>(sql, owner, prefix, end, this.now()));
    return rows.map(({ json }) => JSON.parse(json) as Stored);
  }

  change(
    owner: string,
    id: string,
    change: (stored: StoredConversation) => StoredConversation,
  ): StoredConversation | null {
    return this.#inTransaction(() => {
      const stored = asConversation(this.#read(owner, id));
      if (stored === null) return null;
      const changed = change(stored);
      this.#write(owner, changed);
      return changed;
    });
  }

  holderOf(owner: string, itemId: string): string | null {
    const sql =
      'SELECT holders.id FROM holders JOIN responses ON responses.owner = holders.owner AND responses.id = holders.id ' +
      'WHERE holders.owner = ? AND item = ? AND expires_at > ? ORDER BY is_response DESC, holders.rowid DESC LIMIT 1';
    const [row] = orFail(this.file, () => this.#rows<{ id: string }>(sql, owner, itemId, this.now()));
    return row?.id ?? null;
  }

  delete(owner: string, id: string): boolean {
    const sql = 'DELETE FROM responses WHERE owner = ? AND id = ? RETURNING expires_at';
    const [row] = orFail(this.file, () => this.#rows<{ expires_at: number }>(sql, owner, id));
    return row !== undefined && row.expires_at > this.now();
  }

  close(): void {
    closeSqlite(this.#database);
  }

  #read(owner: string, id: string): Stored | null {
    const now = this.now();
    const used = 'UPDATE responses SET used_at = ? WHERE owner = ? AND id = ? AND expires_at > ? RETURNING id';
    if (this.#rows(used, now, owner, id, now).length === 0) return null;
    const [row] = this.#rows<{ json: string }>('SELECT json FROM texts WHERE owner = ? AND id = ?', owner, id);
    return row === undefined ? null : (JSON.parse(row.json) as Stored);
  }

  /** Must run within a transaction. */
  #write(owner: string, stored: Stored): void {
    const id = idOf(stored);
    const json = JSON.stringify(stored);
    const now = this.now();
    this.#run('DELETE FROM responses WHERE (owner = ? AND id = ?) OR expires_at <= ?', owner, id, now);
    const columns = 'INSERT INTO responses (owner, id, bytes, used_at, expires_at) VALUES (?, ?, ?, ?, ?)';
    this.#run(columns, owner, id, 2 * json.length, now, now + this.limits.maxAgeMs);
    this.#run('INSERT INTO texts (owner, id, json) VALUES (?, ?, ?)', owner, id, json);
    const isResponse = 'response' in stored ? 1 : 0;
    // One statement, because thousands of them would block the server.
    const items = 'INSERT OR IGNORE INTO holders SELECT ?, value, ?, ? FROM json_each(?)';
    this.#run(items, owner, id, isResponse, replaceLoneSurrogates(JSON.stringify(itemIdsOf(stored))));
    this.#makeRoom();
  }

  #inTransaction<Result>(action: () => Result): Result {
    return orFail(this.file, () => {
      this.#database.exec('BEGIN IMMEDIATE');
      try {
        const result = action();
        this.#database.exec('COMMIT');
        return result;
      } catch (error) {
        this.#database.exec('ROLLBACK');
        throw error;
      }
    });
  }

  #makeRoom(): void {
    const { maxResponses, maxBytes } = this.limits;
    for (;;) {
      const [total] = this.#rows<{ count: number; bytes: number }>('SELECT count, bytes FROM total');
      if (total === undefined || (total.count <= maxResponses && total.bytes <= maxBytes)) return;
      const [most] = this.#rows<{ owner: string }>('SELECT owner FROM owners ORDER BY bytes DESC, rowid LIMIT 1');
      if (most === undefined) return;
      this.#run(
        'DELETE FROM responses WHERE owner = ? AND id = (SELECT id FROM responses WHERE owner = ? ORDER BY used_at, rowid LIMIT 1)',
        most.owner,
        most.owner,
      );
    }
  }

  #run(sql: string, ...values: (string | number)[]): void {
    this.#database.prepare(sql).run(values);
  }

  #rows<Row>(sql: string, ...values: (string | number)[]): Row[] {
    return this.#database.prepare(sql).all(values) as Row[];
  }
}

function orFail<Result>(file: string, action: () => Result): Result {
  return onStore('store_failed', `The responses in ${file} cannot be used`, action);
}
