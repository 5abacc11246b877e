/** Random 256-bit secrets of links and cookies. Only their hashes are stored. */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** A fast hash suffices for 256 random bits; see `ts/keys/api-key.ts`. */
export function hashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

/** CSRF token of forms, derived from the cookie's secret. */
export function formTokenOf(secret: string): string {
  return createHmac('sha256', secret).update('chasqui form').digest('base64url');
}

/** Compares in constant time, regardless of the lengths. */
export function isSame(one: string, other: string): boolean {
  return timingSafeEqual(hashOf(one), hashOf(other));
}
