/**
 * By this header a gateway tells its runner whose a request is, so that responses can be kept for each of its keys without
 * the runner knowing any. It is believed on a socket that only the gateway can reach, and nowhere else.
 */
import { createHash } from 'node:crypto';

export const OWNER_HEADER = 'x-chasqui-owner';

/** The same for the same key of a gateway; the key's id cannot be told from it without knowing it. */
export function ownerOfKey(keyId: string): string {
  return createHash('sha256').update(`key ${keyId}`).digest('hex');
}

/** Null where there is none, and for what no gateway sends. */
export function readOwner(value: unknown): string | null {
  return typeof value === 'string' && /^[0-9a-f]{64}$/.test(value) ? value : null;
}
