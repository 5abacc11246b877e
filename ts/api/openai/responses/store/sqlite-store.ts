/** Stored responses in a database in the data folder, readable by this account only. */
import path from 'node:path';
import { replaceLoneSurrogates } from '../../../../engine/job.js';
import { PrivateDatabase } from '../../../../sqlite.js';
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
  readonly #database: PrivateDatabase;

  private constructor(
    file: string,
    private readonly limits: StoreLimits,
    private readonly now: () => number,
  ) {
    this.#database = new PrivateDatabase(file, {
      code: 'store_failed',
      what: `The responses in ${file} cannot be used`,
    });
    this.#database.transaction(() => {
      this.#database.exec(SCHEMA);
      if (this.#database.all("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'items'").length === 0)
        return;
      this.#database.exec(TAKE_OVER_ITEMS);
      this.#database.exec(SCHEMA);
    });
  }

  /** Opens `responses.db` in the folder. Creates both if necessary. */
  static open(folder: string, limits: StoreLimits = DISK_LIMITS, now: () => number = Date.now): SqliteStore {
    return new SqliteStore(path.join(path.resolve(folder), 'responses.db'), limits, now);
  }

  put(owner: string, stored: Stored): void {
    this.#database.transaction(() => this.#write(owner, stored));
  }

  read(owner: string, id: string): Stored | null {
    const now = this.now();
    const used = 'UPDATE responses SET used_at = ? WHERE owner = ? AND id = ? AND expires_at > ? RETURNING id';
    if (this.#database.all(used, [now, owner, id, now]).length === 0) return null;
    const row = this.#database.get<{ json: string }>('SELECT json FROM texts WHERE owner = ? AND id = ?', [owner, id]);
    return row === undefined ? null : this.#database.orFail(() => JSON.parse(row.json) as Stored);
  }

  list(owner: string, prefix: string): Stored[] {
    const sql =
      'SELECT json FROM texts JOIN responses USING (owner, id) ' +
      'WHERE owner = ? AND id >= ? AND id < ? AND expires_at > ?';
    // Ids are ASCII, so they sort before this character.
    const end = `${prefix}\u{7f}`;
    const rows = this.#database.all<{ json: string }>(sql, [owner, prefix, end, this.now()]);
    return rows.map(({ json }) => JSON.parse(json) as Stored);
  }

  change(
    owner: string,
    id: string,
    change: (stored: StoredConversation) => StoredConversation,
  ): StoredConversation | null {
    return this.#database.transaction(() => {
      const stored = asConversation(this.read(owner, id));
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
    return this.#database.get<{ id: string }>(sql, [owner, itemId, this.now()])?.id ?? null;
  }

  delete(owner: string, id: string): boolean {
    const sql = 'DELETE FROM responses WHERE owner = ? AND id = ? RETURNING expires_at';
    const row = this.#database.get<{ expires_at: number }>(sql, [owner, id]);
    return row !== undefined && row.expires_at > this.now();
  }

  close(): void {
    this.#database.close();
  }

  /** Must run within a transaction. */
  #write(owner: string, stored: Stored): void {
    const id = idOf(stored);
    const json = JSON.stringify(stored);
    const now = this.now();
    this.#database.run('DELETE FROM responses WHERE (owner = ? AND id = ?) OR expires_at <= ?', [owner, id, now]);
    const columns = 'INSERT INTO responses (owner, id, bytes, used_at, expires_at) VALUES (?, ?, ?, ?, ?)';
    this.#database.run(columns, [owner, id, 2 * json.length, now, now + this.limits.maxAgeMs]);
    this.#database.run('INSERT INTO texts (owner, id, json) VALUES (?, ?, ?)', [owner, id, json]);
    const isResponse = 'response' in stored ? 1 : 0;
    // One statement, because thousands of them would block the server.
    const items = 'INSERT OR IGNORE INTO holders SELECT ?, value, ?, ? FROM json_each(?)';
    this.#database.run(items, [owner, id, isResponse, replaceLoneSurrogates(JSON.stringify(itemIdsOf(stored)))]);
    this.#makeRoom();
  }

  #makeRoom(): void {
    const { maxResponses, maxBytes } = this.limits;
    for (;;) {
      const total = this.#database.get<{ count: number; bytes: number }>('SELECT count, bytes FROM total');
      if (total === undefined || (total.count <= maxResponses && total.bytes <= maxBytes)) return;
      const most = this.#database.get<{ owner: string }>('SELECT owner FROM owners ORDER BY bytes DESC, rowid LIMIT 1');
      if (most === undefined) return;
      this.#database.run(
        'DELETE FROM responses WHERE owner = ?1 AND id = (SELECT id FROM responses WHERE owner = ?1 ORDER BY used_at, rowid LIMIT 1)',
        [most.owner],
      );
    }
  }
}
