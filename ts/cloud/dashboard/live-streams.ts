/** Streams of events to pages that are open. They end with the session of the page. */
import type { FastifyReply } from 'fastify';

type Send = (event: string, data?: object) => void;

/** Also how soon a stream ends after its session was. */
const BEAT_MS = 5000;
const MAX_PER_SESSION = 12;
/** A page that does not read has its stream ended; the browser connects again. */
const MAX_UNREAD_BYTES = 2 ** 20;

export class LiveStreams {
  readonly #isOpen: (sessionId: string) => boolean;
  readonly #open = new Map<FastifyReply, { sessionId: string; end: () => void }>();

  constructor(isOpen: (sessionId: string) => boolean) {
    this.#isOpen = isOpen;
  }

  /** `follow` is given what sends an event, and returns what ends its own part. */
  open(reply: FastifyReply, sessionId: string, follow: (send: Send) => () => void): void {
    const ofSession = [...this.#open.values()].filter((each) => each.sessionId === sessionId);
    if (ofSession.length >= MAX_PER_SESSION) ofSession[0]?.end();
    reply.hijack();
    const { raw } = reply;
    raw.writeHead(200, {
      ...reply.getHeaders(),
      'content-type': 'text/event-stream',
      'x-accel-buffering': 'no',
    } as never);
    const write = (text: string) => {
      if (raw.writableLength > MAX_UNREAD_BYTES) end();
      else raw.write(text);
    };
    const unfollow = follow((event, data = {}) => write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`));
    const beat = setInterval(() => (this.#isKnownOpen(sessionId) ? write(': open\n\n') : end()), BEAT_MS);
    beat.unref();
    const end = () => {
      clearInterval(beat);
      unfollow();
      this.#open.delete(reply);
      raw.end();
    };
    this.#open.set(reply, { sessionId, end });
    raw.once('close', end);
    write('retry: 2000\n\n');
  }

  /** Where it cannot be known, the stream ends; the browser connects again, and is asked for its session. */
  #isKnownOpen(sessionId: string): boolean {
    try {
      return this.#isOpen(sessionId);
    } catch {
      return false;
    }
  }

  close(): void {
    for (const { end } of [...this.#open.values()]) end();
  }
}
