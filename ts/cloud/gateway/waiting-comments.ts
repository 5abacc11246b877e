/** What a stream is sent while no runner has its request: comments, which clients pass over and proxies do not. */
import type { ClientReply } from './client-reply.js';

export interface CommentOptions {
  /** How long a stream waits in silence. */
  firstMs: number;
  /** After how long the same comment is sent again. */
  repeatMs: number;
}

/** How often it is looked whether there is something new to say. */
const LOOK_MS = 1000;

/**
 * Begins when it is called, and ends by the function that it returns. `isStream` is asked at the first comment only: it
 * parses the body.
 */
export function commentWhileWaiting(
  reply: ClientReply,
  isStream: () => boolean,
  progress: () => string | null,
  { firstMs, repeatMs }: CommentOptions,
): () => void {
  let said = '';
  let saidAt = 0;
  let timer: NodeJS.Timeout;
  const look = (): void => {
    if (!reply.begun) {
      if (!isStream()) return;
      reply.beginStream();
    }
    const text = progress() ?? 'waiting for a runner';
    const now = performance.now();
    if (text !== said || now - saidAt >= repeatMs) {
      reply.comment(text);
      said = text;
      saidAt = now;
    }
    timer = setTimeout(look, Math.min(LOOK_MS, repeatMs));
  };
  timer = setTimeout(look, reply.begun ? 0 : firstMs);
  return () => clearTimeout(timer);
}
