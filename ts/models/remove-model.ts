/** Removes a model from a pool once no request uses it. */
import { once } from 'node:events';
import { ChasquiError } from '../errors.js';
import type { ManagedPool } from './managed-pool.js';
import { findEntry } from './pool.js';

/** Rejects with `not_deletable` if requests still use the model after this time. It then stays loaded. */
export async function removeModel(pool: ManagedPool, id: string, timeoutMs: number): Promise<void> {
  if (pool.remove(id)) return;
  pool.unload(id);
  const late = AbortSignal.timeout(timeoutMs);
  const waited = once(late, 'abort');
  do {
    await Promise.race([pool.changed(), waited]);
    if (pool.remove(id)) return;
  } while (!late.aborted);
  const entry = findEntry(pool.list(), id);
  // Requests that wait for the unload are admitted again.
  if (entry?.status === 'loaded') pool.load(id);
  throw new ChasquiError(
    'not_deletable',
    `Requests still use the model \`${id}\`. Try again when they have finished, or unload it with \`"force": true\` first.`,
    'model',
  );
}
