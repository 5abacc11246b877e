import { randomUUID } from 'node:crypto';

/** An id that nothing else has: the prefix and 32 hexadecimal digits. */
export function newId(prefix: string): string {
  return prefix + randomUUID().replaceAll('-', '');
}
