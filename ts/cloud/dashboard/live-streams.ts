/** Event streams to open pages. They end with the page's session. */
import type { FastifyReply } from 'fastify';
import type { Session } from '../accounts/sessions.js';

type Send = (event: string, data?: object) => void;

/** Also the delay until the stream of an ended session closes. */
const BEAT_MS = 5000;
const MAX_PER_SESSION = 12;
/** Backlog above which a slow reader is disconnected; the browser reconnects. */
const MAX_UNREAD_BYTES = 2 ** 20;

export class LiveStreams {
  readonly #open = new Map<FastifyReply, { sessionId: string; end: () => void }>();

  constructor(private readonly isOpen: (session: Session) => boolean) {}

  /** `follow` receives a function that sends an event, and returns a function that unsubscribes. */
  open(reply: FastifyReply, session: Session, follow: (send: Send) => () => void): void {
    const ofSession = [...this.#open.values()].filter((each) => each.sessionId === session.id);
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
    const beat = setInterval(() => (this.#isKnownOpen(session) ? write(': open\n\n') : end()), BEAT_MS);
    beat.unref();
    const end = () => {
      clearInterval(beat);
      unfollow();
      this.#open.delete(reply);
      raw.end();
    };
    this.#open.set(reply, { sessionId: session.id, end });
    raw.once('close', end);
    write('retry: 2000\n\n');
  }

  /** Ends the stream on errors; the browser reconnects with its session. */
  #isKnownOpen(session: Session): boolean {
    try {
      return this.isOpen(session);
    } catch {
      return false;
    }
  }

  close(): void {
    for (const { end } of [...this.#open.values()]) end();
  }
}
