/** The tokens of one answer → the server-sent events of a protocol that tells an answer part by part. */
import type { Finish, ReplyParser, TokenStream } from '../engine/engine.js';
import type { ErrorBody } from '../schemas/error.js';
import { type AnswerDelta, AnswerReader } from './answer-delta.js';
import { type ChoiceBatch, forEachChoice } from './choices.js';

/** What is sent as one event: data alone, or under a name. Neither holds a line break. */
export type AnswerEvent = string | { name: string; data: string };

/** An event whose data says its name once more, as `type`. */
export function typedEvent(data: { type: string } & Record<string, unknown>): AnswerEvent {
  return { name: data.type, data: JSON.stringify(data) };
}

/** What a protocol makes of an answer; called in this order. */
export interface AnswerEvents {
  begin(): AnswerEvent[];
  add(delta: AnswerDelta): AnswerEvent[];
  /** `reasoningTokens` is `null` where answers have no format that tells. */
  end(finish: Finish, reasoningTokens: number | null): AnswerEvent[];
  /** Instead of `end`, whether or not the answer has begun. */
  fail(body: ErrorBody): AnswerEvent[];
}

export class AnswerEncoder {
  readonly #events: AnswerEvents;
  readonly #reader: AnswerReader;
  #begun = false;

  constructor(events: AnswerEvents, parser?: ReplyParser) {
    this.#events = events;
    this.#reader = new AnswerReader(parser);
  }

  encode({ tokens }: ChoiceBatch): AnswerEvent[] {
    const events = this.#begin();
    for (const delta of this.#reader.read(tokens)) events.push(...this.#events.add(delta));
    return events;
  }

  /** Throws when the answer has not ended: a stream that just stops must not look complete. */
  end(): AnswerEvent[] {
    return this.#events.end(this.#reader.finish, this.#reader.reasoningTokens);
  }

  fail(body: ErrorBody): AnswerEvent[] {
    return [...this.#begin(), ...this.#events.fail(body)];
  }

  /** Reads the answer to its end and sends nothing; what it came to, `events` knows. */
  async collect(streams: readonly TokenStream[]): Promise<void> {
    await forEachChoice(streams, (batch) => void this.encode(batch));
    this.end();
  }

  #begin(): AnswerEvent[] {
    if (this.#begun) return [];
    this.#begun = true;
    return this.#events.begin();
  }
}
