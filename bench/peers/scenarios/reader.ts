import { setTimeout as sleep } from 'node:timers/promises';
import { type Chat, streamChat } from '../../subjects/chat-stream.js';
import type { RunningServer } from '../../subjects/running-server.js';

/** Reads one stream and records the arrival times of its chunks. */
export class Reader {
  /** Settles when the stream ends for any reason. */
  readonly ended: Promise<void>;
  readonly #times: number[] = [];
  #end: unknown;
  #hasEnded = false;

  constructor(server: RunningServer, chat: Chat, signal: AbortSignal) {
    const options = { start: 0, signal, onText: (at: number) => this.#times.push(at) };
    this.ended = streamChat(server, chat, options)
      .then(
        () => new Error('the answer ended before the newcomer had its first token'),
        (error) => error,
      )
      .then((end) => {
        this.#end = end;
        this.#hasEnded = true;
      });
  }

  get pieces(): number {
    return this.#times.length;
  }

  async untilPieces(count: number): Promise<void> {
    while (this.pieces < count) {
      if (this.#hasEnded) throw this.#end;
      await sleep(5);
    }
  }

  /** @param moment by `performance.now()`; the gap around it counts */
  longestGapSince(moment: number): number {
    return Math.max(...this.gaps(moment));
  }

  /** Gaps between the chunks that arrived after `moment`. */
  gaps(moment = 0): number[] {
    const gaps = this.#times.map((time, i) => ({ time, gap: time - (this.#times[i - 1] ?? time) }));
    return gaps.slice(1).flatMap(({ time, gap }) => (time >= moment ? [gap] : []));
  }
}
