/** Converts the tokens of one completion to events of a protocol that announces a completion part by part. */
import type { Finish, TokenStream } from '../../../engine/engine.js';
import type { ErrorBody } from '../../../http/error-body.js';
import type { SseEvent } from '../../../http/sse.js';
import { type CompletionDelta, CompletionReader } from './completion-reader.js';
import { type ChoiceBatch, forEachChoice } from './stream-reply.js';

/** An event that repeats its name as `type` in its data. */
export function typedEvent(data: { type: string } & Record<string, unknown>): SseEvent {
  return { name: data.type, data: JSON.stringify(data) };
}

/** The events of a protocol. The methods are called in the order of their declaration. */
export interface CompletionProtocol {
  begin(): SseEvent[];
  add(delta: CompletionDelta): SseEvent[];
  /** `reasoningTokens`: `null` for completions without a format, which do not separate reasoning. */
  end(finish: Finish, reasoningTokens: number | null): SseEvent[];
  /** Called instead of `end`, after `begin`, when the completion fails. */
  fail(body: ErrorBody): SseEvent[];
}

export class CompletionEventEncoder {
  readonly #reader: CompletionReader;
  #begun = false;

  constructor(
    private readonly protocol: CompletionProtocol,
    parsed: boolean,
  ) {
    this.#reader = new CompletionReader(parsed);
  }

  /** Throws when the completion has not ended. */
  get finish(): Finish {
    return this.#reader.finish;
  }

  /** Returns the events that announce the completion, unless they were returned before. */
  begin(): SseEvent[] {
    if (this.#begun) return [];
    this.#begun = true;
    return this.protocol.begin();
  }

  encode({ tokens }: ChoiceBatch): SseEvent[] {
    const events = this.begin();
    for (const delta of this.#reader.read(tokens)) events.push(...this.protocol.add(delta));
    return events;
  }

  /** Throws if the completion has not ended: an interrupted stream must not look complete. */
  end(): SseEvent[] {
    return this.protocol.end(this.#reader.finish, this.#reader.reasoningTokens);
  }

  fail(body: ErrorBody): SseEvent[] {
    return [...this.begin(), ...this.protocol.fail(body)];
  }

  /**
   * Reads the streams to their ends and passes the events to `take`. Then the protocol object has the whole completion.
   */
  async collect(streams: readonly TokenStream[], take: (events: SseEvent[]) => void = () => {}): Promise<void> {
    await forEachChoice(streams, (batch) => take(this.encode(batch)));
    take(this.end());
  }
}
