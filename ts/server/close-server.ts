/** The end of a server, in good order and in bounded time. */
import type { Engine } from '../engine/engine.js';
import { ChasquiError } from '../errors.js';

/** What is there to be closed; some of it is not when a start failed. */
export interface ServerParts {
  app: { close(): Promise<unknown> } | undefined;
  engine: Pick<Engine, 'close'> | undefined;
  keys: { close(): void } | null;
}

/** How long the engine may take to end: its current step, and then to free its memory. */
const ENGINE_CLOSE_MS = 8000;

/** Rejects with `internal_error` when the engine has not ended in time: only the end of the process frees it then. */
export async function closeServer({ app, engine, keys }: ServerParts, engineCloseMs = ENGINE_CLOSE_MS): Promise<void> {
  try {
    await app?.close();
    if (engine) await within(engineCloseMs, engine.close());
  } finally {
    keys?.close();
  }
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
