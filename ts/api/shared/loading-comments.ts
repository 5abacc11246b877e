/** What a stream is sent while its model is being loaded: comments, which clients pass over and proxies do not. */
import type { FastifyReply } from 'fastify';
import type { Framing } from '../../http/framing.js';
import { beginEvents } from './completion/event-stream.js';

export class LoadingComments {
  readonly #reply: FastifyReply;
  readonly #framing: Framing;
  readonly #timer: NodeJS.Timeout;
  #fraction = 0;
  #begun = false;

  /** The reply begins with the first comment, which is sent after `everyMs`. */
  constructor(reply: FastifyReply, everyMs: number, framing: Framing) {
    this.#reply = reply;
    this.#framing = framing;
    this.#timer = setInterval(() => this.#comment(), everyMs);
  }

  /** Whether the reply has begun, so that a failure can only be an event of it. */
  get begun(): boolean {
    return this.#begun;
  }

  readonly update = (fraction: number): void => {
    this.#fraction = fraction;
  };

  stop(): void {
    clearInterval(this.#timer);
  }

  #comment(): void {
    const { raw } = this.#reply;
    if (!this.#begun) beginEvents(this.#reply, this.#framing);
    this.#begun = true;
    if (!raw.writableNeedDrain) raw.write(this.#framing.loading(Math.floor(this.#fraction * 100)));
  }
}
