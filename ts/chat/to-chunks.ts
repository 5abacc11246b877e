/**
 * Tokens → chunks, as JSON text. This runs for every token of every stream, so a chunk is put together from text
 * prepared once; only what the token brings is serialised.
 */
import type { Finish, Token } from '../engine/engine.js';
import { ChasquiError } from '../errors.js';
import type { LogprobEntry } from '../schemas/chat-response.js';
import type { ChoiceBatch } from './choices.js';
import type { CompletionHead } from './completion-head.js';
import { toLogprobEntry } from './logprobs.js';
import { toUsage } from './usage.js';

/** The contract: every chunk has a `delta.content`, a string or null. */
const NO_CONTENT = '{"content":null}';

interface ChoiceState {
  started: boolean;
  finish: Finish | null;
  /** Entries of tokens whose text is not certain yet; they go out with the next text. */
  logprobs: LogprobEntry[];
}

export class ChunkEncoder {
  /** All up to the value of `choices`. */
  readonly #head: string;
  /** All after the value of `choices`. */
  readonly #tail: string;
  readonly #includeUsage: boolean;
  readonly #choices: ChoiceState[];

  constructor(head: CompletionHead, options: { includeUsage: boolean; choices: number }) {
    const { id, created, model } = head;
    const fields = JSON.stringify({ id, object: 'chat.completion.chunk', created, model });
    this.#head = `${fields.slice(0, -1)},"choices":`;
    this.#tail = options.includeUsage ? ',"usage":null}' : '}';
    this.#includeUsage = options.includeUsage;
    this.#choices = Array.from({ length: options.choices }, () => ({ started: false, finish: null, logprobs: [] }));
  }

  /**
   * The chunks that a choice's tokens make: its first call adds the one with the role, its last token the one that
   * ends it, and the last token of all choices the one with the usage.
   */
  encode({ index, tokens }: ChoiceBatch): string[] {
    const state = this.#choices[index] as ChoiceState;
    const chunks: string[] = [];
    if (!state.started) {
      state.started = true;
      chunks.push(this.#choice(index, '{"role":"assistant","content":""}', 'null', 'null'));
    }
    for (const token of tokens) this.#encodeToken(index, state, token, chunks);
    return chunks;
  }

  /** Throws when the answer has not ended: a stream that just stops must not look complete. */
  assertFinished(): void {
    if (this.#choices.some(({ finish }) => finish === null))
      throw new ChasquiError('internal_error', 'The answer ended without saying why.');
  }

  #encodeToken(index: number, state: ChoiceState, token: Token, chunks: string[]): void {
    const entry = toLogprobEntry(token);
    if (entry) state.logprobs.push(entry);
    if (token.text !== '') {
      chunks.push(this.#choice(index, `{"content":${JSON.stringify(token.text)}}`, takeLogprobs(state), 'null'));
    }
    if (token.finish) {
      state.finish = token.finish;
      chunks.push(this.#choice(index, NO_CONTENT, takeLogprobs(state), `"${token.finish.reason}"`));
      if (this.#includeUsage) this.#encodeUsage(chunks);
    }
  }

  #encodeUsage(chunks: string[]): void {
    const finishes = this.#choices.flatMap(({ finish }) => finish ?? []);
    if (finishes.length < this.#choices.length) return;
    chunks.push(`${this.#head}[],"usage":${JSON.stringify(toUsage(finishes))}}`);
  }

  /** The arguments are JSON. */
  #choice(index: number, delta: string, logprobs: string, finishReason: string): string {
    const choice = `{"index":${index},"delta":${delta},"logprobs":${logprobs},"finish_reason":${finishReason}}`;
    return `${this.#head}[${choice}]${this.#tail}`;
  }
}

function takeLogprobs(state: ChoiceState): string {
  if (state.logprobs.length === 0) return 'null';
  const json = JSON.stringify({ content: state.logprobs, refusal: null });
  state.logprobs = [];
  return json;
}
