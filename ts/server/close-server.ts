/** Closes a server within a bounded time. */
import type { Engine } from '../engine/engine.js';
import { ChasquiError } from '../errors.js';

/** Parts that were not created because the start failed are undefined or null. */
export interface ServerParts {
  app: { close(): Promise<unknown> } | undefined;
  pool: { close(): Promise<void>; list(): readonly { engine: Pick<Engine, 'state'> | null }[] } | undefined;
  mcp?: { close(): Promise<void> } | null;
  library?: { close(): Promise<void> } | undefined;
  keys: { close(): void } | null;
}

/** For the current step and for freeing memory. */
const ENGINE_CLOSE_MS = 8000;

/**
 * Rejects with `internal_error` if the engine does not end in time: then its memory is freed when the process exits. Rejects
 * with `engine_failed`, after everything is closed, if the engine had failed before.
 */
export async function closeServer(
  { app, pool, mcp, library, keys }: ServerParts,
  engineCloseMs = ENGINE_CLOSE_MS,
): Promise<void> {
  const hadFailed = pool?.list().some(({ engine }) => engine?.state === 'failed') ?? false;
  try {
    await app?.close();
    await Promise.all([pool && within(engineCloseMs, pool.close()), mcp?.close(), library?.close()]);
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
