/** An API key is `<id>:<secret>`. The id identifies it in lists and logs. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

export interface NewKey {
  id: string;
  /** The text that the holder sends; it is not stored. */
  key: string;
  /** Stored instead of the secret. */
  hash: Buffer;
}

export function newKey(): NewKey {
  const id = randomBytes(8).toString('hex');
  const secret = randomBytes(32).toString('base64url');
  return { id, key: `${id}:${secret}`, hash: hashOf(secret) };
}

export function splitKey(key: string): { id: string; secret: string } | null {
  const [, id, secret] = /^([0-9a-f]{16}):([\w-]{43})$/.exec(key) ?? [];
  return id === undefined || secret === undefined ? null : { id, secret };
}

/** In constant time. */
export function isSecret(secret: string, hash: Uint8Array): boolean {
  return timingSafeEqual(hashOf(secret), hash);
}

/** A fast hash without salt suffices for 256 random bits, and keeps the check of a key cheap. */
function hashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
