/**
 * A gateway passes the owner of a request to its runner in this header. The runner stores responses per owner without
 * knowing the keys. The header is only trusted on a socket that only the gateway can reach.
 */
import { createHash } from 'node:crypto';

export const OWNER_HEADER = 'x-chasqui-owner';

/** A deterministic hash of the key's id, which does not reveal the id. */
export function ownerOfKey(keyId: string): string {
  return createHash('sha256').update(`key ${keyId}`).digest('hex');
}

/** Returns null if the header is absent or malformed. */
export function readOwner(value: unknown): string | null {
  return typeof value === 'string' && /^[0-9a-f]{64}$/.test(value) ? value : null;
}
