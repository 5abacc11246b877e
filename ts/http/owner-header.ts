/**
 * In this header a gateway tells its runner the owner of a request. The runner stores responses per owner without
 * knowing the keys. The header is only trusted on a socket that only the gateway can reach.
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
