/** Closes a server within a bounded time. */
import type { Engine } from '../engine/engine.js';
import { ChasquiError } from '../errors.js';

/** The parts of a server; those that were not made because a start failed are undefined or null. */
export interface ServerParts {
  app: { close(): Promise<unknown> } | undefined;
  pool: { close(): Promise<void>; list(): readonly { engine: Pick<Engine, 'state'> | null }[] } | undefined;
  keys: { close(): void } | null;
}

/** How long the engine may take to finish its current step and to free its memory. */
const ENGINE_CLOSE_MS = 8000;

/**
 * Rejects with `internal_error` when the engine has not ended in time; then only the end of the process frees its
 * memory. Rejects with `engine_failed`, after everything is closed, when the engine had failed before.
 */
export async function closeServer({ app, pool, keys }: ServerParts, engineCloseMs = ENGINE_CLOSE_MS): Promise<void> {
  const hadFailed = pool?.list().some(({ engine }) => engine?.state === 'failed') ?? false;
  try {
    await app?.close();
    if (pool) await within(engineCloseMs, pool.close());
  } finally {
    keys?.close();
  }
  if (hadFailed) throw new ChasquiError('engine_failed', 'The engine had failed before the server was stopped.');
}

async function within(limitMs: number, closing: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const reason = `The engine has not ended within ${limitMs / 1000} seconds.`;
    timer = setTimeout(() => reject(new ChasquiError('internal_error', reason)), limitMs);
  });
  try {
    await Promise.race([closing, late]);
  } finally {
    clearTimeout(timer);
  }
}
