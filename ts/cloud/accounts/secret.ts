/** Random secrets that links and cookies carry: 256 bits, of which only a hash is stored. */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** One fast hash is enough for what cannot be tried out; see `ts/keys/api-key.ts`. */
export function hashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

/** What the forms of a page carry beside the cookie that holds `secret`: it cannot be had from another site. */
export function formTokenOf(secret: string): string {
  return createHmac('sha256', secret).update('chasqui form').digest('base64url');
}

/** In constant time, whatever lengths the two have. */
export function isSame(one: string, other: string): boolean {
  return timingSafeEqual(hashOf(one), hashOf(other));
}
