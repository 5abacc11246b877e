/**
 * API keys of one deployment from a JSON file that another program writes, such as a mounted Kubernetes Secret. The
 * next request sees a change of the file.
 */
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { onStore } from '../errors.js';
import { isSecret, splitKey } from './api-key.js';

/** Element of `keys` in the file. */
export interface StoredKey {
  /** 16 hexadecimal digits. */
  id: string;
  /** SHA-256 of the secret, 64 hexadecimal digits. */
  hash: string;
  /** Restricts the key to one organisation; null or absent: all. */
  org?: string | null;
  /** Unix seconds; null or absent: never. */
  expiresAt?: number | null;
}

interface KnownKey {
  hash: Buffer;
  org: string | null;
  expiresAt: number;
}

/** Enough for 10,000 keys. */
const MAX_BYTES = 4 << 20;

export class KeyFile {
  readonly #file: string;
  #keys: ReadonlyMap<string, KnownKey> = new Map();
  #version = '';

  /** Throws `key_store_failed` if the file cannot be used. */
  constructor(file: string) {
    this.#file = path.resolve(file);
    this.#refresh();
  }

  /** Whether `key` is valid for `org`. If the file has become unreadable, no key is. */
  admits(key: string, org: string): boolean {
    try {
      this.#refresh();
    } catch {
      this.#keys = new Map();
      this.#version = '';
    }
    const parts = splitKey(key);
    if (!parts) return false;
    const known = this.#keys.get(parts.id);
    const isEqual = isSecret(parts.secret, known?.hash ?? NO_HASH);
    return (
      known !== undefined && isEqual && known.expiresAt > Date.now() / 1000 && (known.org === null || known.org === org)
    );
  }

  close(): void {
    this.#keys = new Map();
  }

  /** Kubernetes replaces a linked folder, so each change has a new inode. */
  #refresh(): void {
    const version = orFail(this.#file, () => {
      const { ino, mtimeMs, size } = statSync(this.#file);
      if (size > MAX_BYTES) throw new Error(`it has ${size} bytes, more than ${MAX_BYTES}`);
      return `${ino} ${mtimeMs} ${size}`;
    });
    if (version === this.#version) return;
    this.#keys = orFail(this.#file, () => readKeys(readFileSync(this.#file, 'utf8')));
    this.#version = version;
  }
}

const NO_HASH = Buffer.alloc(32);

function readKeys(text: string): Map<string, KnownKey> {
  const { keys } = JSON.parse(text) as { keys?: unknown };
  if (!Array.isArray(keys)) throw new Error('its `keys` is not an array');
  return new Map(keys.map((key, index) => [idOf(key, index), toKnownKey(key, index)]));
}

function idOf(key: Partial<StoredKey> | null, index: number): string {
  if (/^[0-9a-f]{16}$/.test(String(key?.id))) return String(key?.id);
  throw new Error(`\`keys[${index}].id\` is not 16 hexadecimal digits`);
}

function toKnownKey({ hash, org = null, expiresAt = null }: Partial<StoredKey>, index: number): KnownKey {
  if (!/^[0-9a-f]{64}$/.test(String(hash))) throw new Error(`\`keys[${index}].hash\` is not 64 hexadecimal digits`);
  if (org !== null && typeof org !== 'string') throw new Error(`\`keys[${index}].org\` is not a string`);
  if (expiresAt !== null && typeof expiresAt !== 'number')
    throw new Error(`\`keys[${index}].expiresAt\` is not a number`);
  return { hash: Buffer.from(String(hash), 'hex'), org, expiresAt: expiresAt ?? Number.POSITIVE_INFINITY };
}

function orFail<T>(file: string, action: () => T): T {
  return onStore('key_store_failed', `Cannot use the keys in ${file}`, action);
}
