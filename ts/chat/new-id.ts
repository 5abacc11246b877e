import { randomUUID } from 'node:crypto';

/** `prefix_` and 32 hexadecimal digits. */
export function newId(prefix: string): string {
  return `${prefix}_${randomUUID().replaceAll('-', '')}`;
}
