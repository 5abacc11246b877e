import { randomUUID } from 'node:crypto';

/** Returns a unique id: the prefix and 32 hexadecimal digits. */
export function newId(prefix: string): string {
  return prefix + randomUUID().replaceAll('-', '');
}
