/**
 * API keys of this machine in a database that several processes may use. A running server sees changes with its next
 * request.
 */
import path from 'node:path';
import { BackgroundDatabase, PrivateDatabase, type SqlValue } from '../sqlite.js';
import { isSecret, newKey, splitKey } from './api-key.js';
import type { StoredKey } from './key-file.js';
import { migrateKeys } from './key-schema.js';
import {
  checkKeySettings,
  type KeyLimits,
  type KeySettings,
  type LimitName,
  type Scope,
  toLimits,
} from './key-settings.js';

export interface ApiKey extends KeySettings {
  id: string;
  /** Unix seconds. */
  createdAt: number;
  /** Unix seconds; null while it is valid. */
  revokedAt: number | null;
  /** Unix seconds, updated every few seconds. Null before the first use, and on servers without a cloud. */
  lastUsedAt: number | null;
}

export interface KeyFilter {
  org?: string | null;
  app?: string | null;
}

export type NewKeySettings = Partial<Omit<KeySettings, 'limits'>> & { limits?: Partial<KeyLimits> };

interface KeyRow extends Record<LimitName, number | null> {
  id: string;
  name: string | null;
  org: string | null;
  app: string | null;
  scopes: string;
  hash: Uint8Array;
  created_at: number;
  revoked_at: number | null;
  expires_at: number | null;
  last_used_at: number | null;
}

interface CachedKey {
  key: ApiKey;
  hash: Uint8Array;
}

export interface KeyStoreOptions {
  /** Whether commits survive a power failure. Otherwise only those before `synced` do. */
  waitsForDisk: boolean;
}

const MAX_CACHED_KEYS = 10_000;

/** Methods throw `key_store_failed` if the file cannot be read or written. */
export class KeyStore {
  readonly #database: PrivateDatabase;
  readonly #dataVersion: { get(): unknown };
  /** Cache, cleared after each change of the file. */
  readonly #cache = new Map<string, CachedKey>();
  #cacheVersion = -1;
  readonly #refused = new Set<string>();

  private constructor(file: string, { waitsForDisk }: KeyStoreOptions) {
    const settings = { code: 'key_store_failed', what: `Cannot use the keys in ${file}` } as const;
    this.#database = waitsForDisk
      ? new PrivateDatabase(file, { ...settings, synchronous: 'FULL' })
      : new BackgroundDatabase(file, settings);
    const { connection } = this.#database;
    this.#dataVersion = this.#database.orFail(() => {
      migrateKeys(connection);
      return connection.prepare('PRAGMA data_version').raw();
    });
  }

  /** Opens or creates the database in `folder`. Both are private to this account. */
  static open(folder: string, options: KeyStoreOptions = { waitsForDisk: true }): KeyStore {
    return new KeyStore(path.join(path.resolve(folder), 'chasqui.db'), options);
  }

  /** Returns the key, which is not stored. Throws `invalid_value` with the name of the setting. */
  create(settings: NewKeySettings = {}): { id: string; key: string } {
    const { name, org, app, scopes, expiresAt, limits } = checkKeySettings(settings as Partial<KeySettings>);
    const { id, key, hash } = newKey();
    this.#run(
      `INSERT INTO api_keys (id, hash, created_at, name, org, app, scopes, expires_at, requests_per_minute,
        tokens_per_minute, concurrency, body_bytes) VALUES (?, ?, unixepoch(), ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      [
        id,
        hash,
        name,
        org,
        app,
        scopes.join(' '),
        expiresAt,
        limits.requestsPerMinute,
        limits.tokensPerMinute,
        limits.concurrency,
        limits.bodyBytes,
      ],
    );
    return { id, key };
  }

  /** Lists keys, oldest first. `org` and `app` select the keys that are valid for them. */
  list({ org = null, app = null }: KeyFilter = {}): ApiKey[] {
    return this.#database
      .all<KeyRow>(
        `SELECT * FROM api_keys WHERE (?1 IS NULL OR org IS NULL OR org = ?1) AND (?2 IS NULL OR app IS NULL OR app = ?2)
      ORDER BY created_at, id`,
        [org, app],
      )
      .map(toApiKey);
  }

  /** The valid keys of this app for a `KeyFile`: hashes without limits. */
  storedFor(org: string, app: string, now = Date.now() / 1000): StoredKey[] {
    const rows = this.#database.all<KeyRow>(
      'SELECT * FROM api_keys WHERE (org IS NULL OR org = ?) AND (app IS NULL OR app = ?) ORDER BY created_at, id',
      [org, app],
    );
    return rows.flatMap((row) => {
      const key = toApiKey(row);
      if (!isValid(key, now) || !key.scopes.includes('call')) return [];
      return [{ id: key.id, hash: Buffer.from(row.hash).toString('hex'), org: key.org, expiresAt: key.expiresAt }];
    });
  }

  /** Returns the key, valid or not, or null. */
  find(id: string): ApiKey | null {
    const row = this.#find(id);
    return row ? toApiKey(row) : null;
  }

  /** Refuses the key in this process, also if the disk cannot be written. */
  refuse(id: string): void {
    this.#refused.add(id);
  }

  /** Returns the revoked key, or null if it does not exist. Idempotent. */
  revoke(id: string): ApiKey | null {
    this.#run('UPDATE api_keys SET revoked_at = unixepoch() WHERE id = ? AND revoked_at IS NULL', [id]);
    return this.find(id);
  }

  /** Stores the times of last use, in Unix seconds. */
  setLastUsed(times: ReadonlyMap<string, number>): void {
    this.#database.transaction(() => {
      for (const values of times) this.#database.run(SET_LAST_USED, values);
    });
  }

  /**
   * Returns the valid key for the text that a client sent, or null. Takes a few microseconds, sees changes of other
   * processes, and returns the same object until a change.
   */
  check(key: string, now = Date.now() / 1000): ApiKey | null {
    const parts = splitKey(key);
    if (!parts) return null;
    const known = this.#cached(parts.id);
    // Takes equally long for an unknown id.
    const isEqual = isSecret(parts.secret, known?.hash ?? NO_HASH);
    return isEqual ? this.#valid(known, now) : null;
  }

  /** Returns the valid key with this id. The caller has checked the secret before. */
  checkId(id: string, now = Date.now() / 1000): ApiKey | null {
    return this.#valid(this.#cached(id), now);
  }

  #valid(known: CachedKey | undefined, now: number): ApiKey | null {
    return known && isValid(known.key, now) && !this.#refused.has(known.key.id) ? known.key : null;
  }

  /**
   * Whether `key` may call this app of `org`, or without `app` any app of it. Does not enforce limits; the gateway of a
   * cloud does.
   */
  admits(key: string, org: string, app?: string): boolean {
    const found = this.check(key);
    if (!found?.scopes.includes('call')) return false;
    return (found.org === null || found.org === org) && (found.app === null || app === undefined || found.app === app);
  }

  /** Resolves when all earlier commits are on the disk. */
  async synced(): Promise<void> {
    if (this.#database instanceof BackgroundDatabase) await this.#database.synced();
  }

  close(): void {
    this.#database.close();
  }

  #cached(id: string): CachedKey | undefined {
    const [version] = this.#database.orFail(() => this.#dataVersion.get()) as [number];
    if (version !== this.#cacheVersion || this.#cache.size >= MAX_CACHED_KEYS) this.#cache.clear();
    this.#cacheVersion = version;
    const known = this.#cache.get(id);
    if (known) return known;
    const row = this.#find(id);
    if (!row) return undefined;
    const read = { key: toApiKey(row), hash: row.hash };
    this.#cache.set(id, read);
    return read;
  }

  #find(id: string): KeyRow | undefined {
    return this.#database.get('SELECT * FROM api_keys WHERE id = ?', [id]);
  }

  #run(sql: string, values: readonly SqlValue[]): void {
    this.#database.run(sql, values);
    // `data_version` reports changes of other connections only.
    this.#cache.clear();
  }
}

const SET_LAST_USED =
  'UPDATE api_keys SET last_used_at = ?2 WHERE id = ?1 AND (last_used_at IS NULL OR last_used_at < ?2)';

const NO_HASH = Buffer.alloc(32);

/** `now`: Unix seconds of the system clock. */
export function isValid({ revokedAt, expiresAt }: ApiKey, now: number): boolean {
  return revokedAt === null && (expiresAt === null || now < expiresAt);
}

function toApiKey(row: KeyRow): ApiKey {
  return {
    id: row.id,
    name: row.name,
    org: row.org,
    app: row.app,
    scopes: row.scopes.split(' ') as Scope[],
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    lastUsedAt: row.last_used_at,
    limits: toLimits((name) => row[name]),
  };
}
