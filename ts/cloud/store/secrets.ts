/** Secrets of runners, encrypted in the database with a key in a separate file. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { ChasquiError, invalidValue } from '../../errors.js';
import type { Database } from './database.js';

export interface SecretEntry {
  name: string;
  /** Milliseconds since 1970. */
  updatedAt: number;
}

const STEPS = [
  `CREATE TABLE secrets (
    org TEXT NOT NULL,
    name TEXT NOT NULL,
    value BLOB NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (org, name)
  ) STRICT, WITHOUT ROWID`,
];

/** Of an organisation. */
const MAX_SECRETS = 200;
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export class SecretStore {
  readonly #key: Buffer;

  /** `folder`: of the key file, which is created if missing. */
  constructor(
    private readonly database: Database,
    folder: string,
  ) {
    database.migrate('secrets', STEPS);
    this.#key = readKey(path.join(folder, 'secret.key'));
  }

  /** @throws {ChasquiError} `invalid_value` beyond the number of secrets */
  set(org: string, name: string, value: string): void {
    const others = this.list(org).filter((each) => each.name !== name);
    if (others.length >= MAX_SECRETS) {
      throw invalidValue(`${org} has ${MAX_SECRETS} secrets, which is the limit. Remove one first.`, 'name');
    }
    this.database.run('INSERT OR REPLACE INTO secrets (org, name, value, updated_at) VALUES (?, ?, ?, ?)', [
      org,
      name,
      this.#encrypt(value, labelOf(org, name)),
      Date.now(),
    ]);
  }

  list(org: string): SecretEntry[] {
    const rows = this.database.all<{ name: string; updated_at: number }>(
      'SELECT name, updated_at FROM secrets WHERE org = ? ORDER BY name',
      [org],
    );
    return rows.map(({ name, updated_at: updatedAt }) => ({ name, updatedAt }));
  }

  /** Returns whether it existed. */
  remove(org: string, name: string): boolean {
    return this.database.run('DELETE FROM secrets WHERE org = ? AND name = ?', [org, name]) > 0;
  }

  /** @throws {ChasquiError} `script_invalid` */
  requireAll(org: string, names: readonly string[]): void {
    const known = new Set(this.list(org).map(({ name }) => name));
    const missing = names.filter((name) => !known.has(name));
    if (missing.length > 0) throw missingSecrets(org, missing);
  }

  /** @throws {ChasquiError} `script_invalid`, `cloud_store_failed` */
  read(org: string, names: readonly string[]): Record<string, string> {
    this.requireAll(org, names);
    const found = names.map((name) => {
      const sql = 'SELECT value FROM secrets WHERE org = ? AND name = ?';
      const { value } = this.database.get<{ value: Uint8Array }>(sql, [org, name]) as { value: Uint8Array };
      return [name, this.#decrypt(Buffer.from(value), labelOf(org, name))];
    });
    return Object.fromEntries(found) as Record<string, string>;
  }

  /** Layout: nonce, tag, text. The tag authenticates the label, so a row cannot replace another. */
  #encrypt(text: string, label: Buffer): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce).setAAD(label);
    const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), encrypted]);
  }

  #decrypt(value: Buffer, label: Buffer): string {
    const cipher = createDecipheriv('aes-256-gcm', this.#key, value.subarray(0, NONCE_BYTES)).setAAD(label);
    cipher.setAuthTag(value.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    try {
      return Buffer.concat([cipher.update(value.subarray(NONCE_BYTES + TAG_BYTES)), cipher.final()]).toString('utf8');
    } catch (cause) {
      const message = 'The secrets were not encrypted with the key in secret.key. Set them again.';
      throw new ChasquiError('cloud_store_failed', message, null, { cause });
    }
  }
}

function missingSecrets(org: string, names: readonly string[]): ChasquiError {
  const commands = names.map((name) => `chasqui secrets set ${name}`).join('; ');
  const message = `The organisation ${org} has no secret ${names.join(', ')}. Run: ${commands}`;
  return new ChasquiError('script_invalid', message, 'secrets');
}

function labelOf(org: string, name: string): Buffer {
  return Buffer.from(`${org}/${name}`);
}

function readKey(file: string): Buffer {
  if (!fs.existsSync(file)) {
    const part = `${file}.${randomBytes(4).toString('hex')}`;
    fs.writeFileSync(part, randomBytes(KEY_BYTES), { mode: 0o600, flush: true });
    // If two processes create it at the same time, the second uses the first's.
    try {
      fs.linkSync(part, file);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    } finally {
      fs.rmSync(part);
    }
  }
  const key = fs.readFileSync(file);
  if (key.length === KEY_BYTES) return key;
  throw new ChasquiError('cloud_store_failed', `${file} does not hold a key of ${KEY_BYTES} bytes.`);
}
