/**
 * The API keys of this machine's deployments, in a database file that several processes may use at the same time. A
 * running server sees every change with its next request.
 */
import { chmodSync, closeSync, mkdirSync, openSync } from 'node:fs';
import path from 'node:path';
import { ChasquiError } from '../errors.js';
import { openSqlite, type Sqlite } from '../sqlite.js';
import { isSecret, newKey, splitKey } from './api-key.js';
import type { StoredKey } from './key-file.js';
import { migrateKeys } from './key-schema.js';
import { checkKeySettings, type KeyLimits, type KeySettings, type Scope } from './key-settings.js';

export interface ApiKey extends KeySettings {
  id: string;
  /** Unix seconds. */
  createdAt: number;
  /** Unix seconds; null while it is valid. */
  revokedAt: number | null;
  /** Unix seconds; a few seconds late. Null before its first use, and for keys that only servers without a cloud see. */
  lastUsedAt: number | null;
}

/** Narrows a list or a change to keys of one organisation, or of one of its apps. */
export interface KeyFilter {
  org?: string | null;
  app?: string | null;
}

export type NewKeySettings = Partial<Omit<KeySettings, 'limits'>> & { limits?: Partial<KeyLimits> };

interface KeyRow {
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
  requests_per_minute: number | null;
  tokens_per_minute: number | null;
  concurrency: number | null;
  body_bytes: number | null;
}

/** A key and the hash of its secret, as they were read last. */
interface KnownKey {
  key: ApiKey;
  hash: Uint8Array;
}

/** Readers never wait in a database with a write-ahead log; a writer waits this long for another one. */
const BUSY_TIMEOUT_MS = 5000;

/** More keys than this in use at once are read from the file again and again. */
const MAX_KNOWN_KEYS = 10_000;

/** Methods throw `key_store_failed` when the file cannot be read or written. */
export class KeyStore {
  readonly #database: Sqlite;
  readonly #file: string;
  readonly #dataVersion: { get(): unknown };
  /** What was read since the file changed last. */
  readonly #known = new Map<string, KnownKey>();
  #knownVersion = -1;

  private constructor(file: string) {
    this.#file = file;
    this.#database = openSqlite(file);
    this.#database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    this.#database.exec('PRAGMA journal_mode = WAL');
    // With this a new or revoked key survives a loss of power at the next moment.
    this.#database.exec('PRAGMA synchronous = FULL');
    migrateKeys(this.#database);
    this.#dataVersion = this.#database.prepare('PRAGMA data_version').raw();
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

  /** The key is returned once and never stored. Throws `invalid_value` that names the setting. */
  create(settings: NewKeySettings = {}): { id: string; key: string } {
    const { name, org, app, scopes, expiresAt, limits } = checkKeySettings(settings as Partial<KeySettings>);
    const { id, key, hash } = newKey();
    this.#run(
      `INSERT INTO api_keys (id, hash, created_at, name, org, app, scopes, expires_at, requests_per_minute,
        tokens_per_minute, concurrency, body_bytes) VALUES (?, ?, unixepoch(), ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      [
        ...[id, hash, name, org, app, scopes.join(' '), expiresAt],
        ...[limits.requestsPerMinute, limits.tokensPerMinute, limits.concurrency, limits.bodyBytes],
      ],
    );
    return { id, key };
  }

  /** All keys, oldest first; with `org`, those that open its deployments, and with `app` those that open that one. */
  list({ org = null, app = null }: KeyFilter = {}): ApiKey[] {
    return this.#rows(
      `SELECT * FROM api_keys WHERE (?1 IS NULL OR org IS NULL OR org = ?1) AND (?2 IS NULL OR app IS NULL OR app = ?2)
      ORDER BY created_at, id`,
      [org, app],
    ).map(toApiKey);
  }

  /** What may call this app now, for a `KeyFile` elsewhere: hashes instead of secrets, and no limits. */
  storedFor(org: string, app: string, now = Date.now() / 1000): StoredKey[] {
    const rows = this.#rows(
      'SELECT * FROM api_keys WHERE (org IS NULL OR org = ?) AND (app IS NULL OR app = ?) ORDER BY created_at, id',
      [org, app],
    );
    return rows.flatMap((row) => {
      const key = toApiKey(row);
      if (!isValid(key, now) || !key.scopes.includes('call')) return [];
      return [{ id: key.id, hash: Buffer.from(row.hash).toString('hex'), org: key.org, expiresAt: key.expiresAt }];
    });
  }

  /** Returns null when there is no key of this id, valid or not. */
  find(id: string): ApiKey | null {
    const row = this.#find(id);
    return row ? toApiKey(row) : null;
  }

  /** The key as it is afterwards, or null when there is none of this id. Revoking twice changes nothing. */
  revoke(id: string): ApiKey | null {
    this.#run('UPDATE api_keys SET revoked_at = unixepoch() WHERE id = ? AND revoked_at IS NULL', [id]);
    return this.find(id);
  }

  /** Writes down when keys were used last, in Unix seconds. */
  used(times: ReadonlyMap<string, number>): void {
    orFail(this.#file, () => {
      this.#database.transaction(() => {
        for (const values of times) this.#database.prepare(SET_LAST_USED).run(values);
      })();
    });
  }

  /**
   * The key that a client sent, if it is valid now: in a few microseconds, and knowing what other processes changed a
   * moment ago. The same object for the same key, until something changes.
   */
  check(key: string, now = Date.now() / 1000): ApiKey | null {
    const parts = splitKey(key);
    if (!parts) return null;
    const known = this.#know(parts.id);
    // An unknown id takes as long as a wrong secret.
    const isRight = isSecret(parts.secret, known?.hash ?? NO_HASH);
    return known && isRight && isValid(known.key, now) ? known.key : null;
  }

  /**
   * Whether `key`, as a client sent it, may call this app of `org`, or some app of it, now. Its limits are for who counts,
   * as the gateway of a cloud does.
   */
  admits(key: string, org: string, app?: string): boolean {
    const found = this.check(key);
    if (!found?.scopes.includes('call')) return false;
    return (found.org === null || found.org === org) && (found.app === null || app === undefined || found.app === app);
  }

  close(): void {
    this.#database.close();
  }

  #know(id: string): KnownKey | undefined {
    const [version] = orFail(this.#file, () => this.#dataVersion.get()) as [number];
    if (version !== this.#knownVersion || this.#known.size >= MAX_KNOWN_KEYS) this.#known.clear();
    this.#knownVersion = version;
    const known = this.#known.get(id);
    if (known) return known;
    const row = this.#find(id);
    if (!row) return undefined;
    const read = { key: toApiKey(row), hash: row.hash };
    this.#known.set(id, read);
    return read;
  }

  #find(id: string): KeyRow | undefined {
    return this.#rows('SELECT * FROM api_keys WHERE id = ?', [id])[0];
  }

  #rows(sql: string, values: readonly unknown[]): KeyRow[] {
    return orFail(this.#file, () => this.#database.prepare(sql).all(values) as KeyRow[]);
  }

  #run(sql: string, values: readonly unknown[]): void {
    orFail(this.#file, () => this.#database.prepare(sql).run(values));
    // The version of the data tells of other connections' changes only.
    this.#known.clear();
  }
}

const SET_LAST_USED =
  'UPDATE api_keys SET last_used_at = ?2 WHERE id = ?1 AND (last_used_at IS NULL OR last_used_at < ?2)';

const NO_HASH = Buffer.alloc(32);

/** By the clock on the wall: that is what the person who set the date meant. */
export function isValid({ revokedAt, expiresAt }: ApiKey, now: number): boolean {
  return revokedAt === null && (expiresAt === null || now < expiresAt);
}

function orFail<T>(file: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (error instanceof ChasquiError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new ChasquiError('key_store_failed', `The keys in ${file} cannot be used: ${reason}.`, null, {
      cause: error,
    });
  }
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
    limits: {
      requestsPerMinute: row.requests_per_minute,
      tokensPerMinute: row.tokens_per_minute,
      concurrency: row.concurrency,
      bodyBytes: row.body_bytes,
    },
  };
}
