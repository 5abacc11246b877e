/**
 * The API keys of this machine's deployments, in a database file that several processes may use at the same time. A
 * running server sees every change with its next request.
 */
import { chmodSync, closeSync, mkdirSync, openSync } from 'node:fs';
import path from 'node:path';
import Database from 'libsql';
import { ChasquiError } from '../errors.js';
import { isSecret, newKey, splitKey } from './api-key.js';

export interface ApiKey {
  id: string;
  /** What its owner calls it. */
  name: string | null;
  /** The organisation whose deployments it opens; null opens those of every organisation. */
  org: string | null;
  /** Unix seconds. */
  createdAt: number;
  /** Unix seconds; null while it is valid. */
  revokedAt: number | null;
}

interface KeyRow {
  id: string;
  name: string | null;
  org: string | null;
  hash: Uint8Array;
  created_at: number;
  revoked_at: number | null;
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS api_keys (
    id TEXT PRIMARY KEY,
    name TEXT,
    org TEXT,
    hash BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
  ) STRICT, WITHOUT ROWID`;

/** Readers never wait in a database with a write-ahead log; a writer waits this long for another one. */
const BUSY_TIMEOUT_MS = 5000;

/** Methods throw `key_store_failed` when the file cannot be read or written. */
export class KeyStore {
  readonly #database: InstanceType<typeof Database>;
  readonly #file: string;

  private constructor(file: string) {
    this.#file = file;
    this.#database = new Database(file);
    this.#database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    this.#database.exec('PRAGMA journal_mode = WAL');
    // With this a new or revoked key survives a loss of power at the next moment.
    this.#database.exec('PRAGMA synchronous = FULL');
    this.#database.exec(SCHEMA);
  }

  /** Opens the database in `folder`; both are made when they are not there, for this account's eyes only. */
  static open(folder: string): KeyStore {
    const file = path.join(path.resolve(folder), 'chasqui.db');
    return orFail(file, () => {
      mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
      closeSync(openSync(file, 'a', 0o600));
      chmodSync(file, 0o600);
      return new KeyStore(file);
    });
  }

  /** The key is returned once and never stored. */
  create({ name = null, org = null }: { name?: string | null; org?: string | null } = {}): { id: string; key: string } {
    const { id, key, hash } = newKey();
    this.#run('INSERT INTO api_keys (id, name, org, hash, created_at) VALUES (?, ?, ?, ?, unixepoch())', [
      id,
      name,
      org,
      hash,
    ]);
    return { id, key };
  }

  /** All keys, oldest first; with `org`, those that open its deployments. */
  list(org: string | null = null): ApiKey[] {
    return this.#rows('SELECT * FROM api_keys WHERE ?1 IS NULL OR org IS NULL OR org = ?1 ORDER BY created_at, id', [
      org,
    ]).map(toApiKey);
  }

  /** The key as it is afterwards, or null when there is none of this id. Revoking twice changes nothing. */
  revoke(id: string): ApiKey | null {
    this.#run('UPDATE api_keys SET revoked_at = unixepoch() WHERE id = ? AND revoked_at IS NULL', [id]);
    const row = this.#find(id);
    return row ? toApiKey(row) : null;
  }

  /** Whether `key`, as a client sent it, opens the deployments of `org` now. */
  admits(key: string, org: string): boolean {
    const parts = splitKey(key);
    if (!parts) return false;
    const row = this.#find(parts.id);
    // An unknown id takes as long as a wrong secret.
    const isRight = isSecret(parts.secret, row?.hash ?? NO_HASH);
    return row !== undefined && isRight && row.revoked_at === null && (row.org === null || row.org === org);
  }

  close(): void {
    this.#database.close();
  }

  #find(id: string): KeyRow | undefined {
    return this.#rows('SELECT * FROM api_keys WHERE id = ?', [id])[0];
  }

  #rows(sql: string, values: readonly unknown[]): KeyRow[] {
    return orFail(this.#file, () => this.#database.prepare(sql).all(values) as KeyRow[]);
  }

  #run(sql: string, values: readonly unknown[]): void {
    orFail(this.#file, () => this.#database.prepare(sql).run(values));
  }
}

const NO_HASH = Buffer.alloc(32);

function orFail<T>(file: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ChasquiError('key_store_failed', `The keys in ${file} cannot be used: ${reason}.`, null, {
      cause: error,
    });
  }
}

function toApiKey(row: KeyRow): ApiKey {
  return { id: row.id, name: row.name, org: row.org, createdAt: row.created_at, revokedAt: row.revoked_at };
}
