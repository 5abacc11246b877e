/**
 * What an API key is made of: `<id>:<secret>`. The id names it in lists and logs, the secret is known to its holder
 * only.
 */
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

/**
 * Slow hashes and salts protect passwords that people choose, because those can be tried out or looked up. 256 random
 * bits cannot, so one fast hash is enough, and checking a key costs a request next to nothing.
 */
function hashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
