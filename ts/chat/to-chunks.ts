/**
 * Tokens → chunks, as JSON text. This runs for every token of every stream, so a chunk is put together from text
 * prepared once; only what the token brings is serialised.
 */
import type { Finish, Token } from '../engine/engine.js';
import { ChasquiError } from '../errors.js';
import type { LogprobEntry } from '../schemas/chat-response.js';
import type { CompletionHead } from './completion-head.js';
import { toLogprobEntry } from './logprobs.js';
import { toUsage } from './usage.js';

export class ChunkEncoder {
  /** All up to the value of `choices`. */
  readonly #head: string;
  /** All after the value of `choices`. */
  readonly #tail: string;
  readonly #includeUsage: boolean;
  #started = false;
  #finish: Finish | undefined;
  /** Entries of tokens whose text is not certain yet; they go out with the next text. */
  #logprobs: LogprobEntry[] = [];

  constructor(head: CompletionHead, options: { includeUsage: boolean }) {
    const { id, created, model } = head;
    const fields = JSON.stringify({ id, object: 'chat.completion.chunk', created, model });
    this.#head = `${fields.slice(0, -1)},"choices":`;
    this.#tail = options.includeUsage ? ',"usage":null}' : '}';
    this.#includeUsage = options.includeUsage;
  }

  /** The chunks that these tokens make: the first call adds the one with the role, the last token those that end. */
  encode(tokens: readonly Token[]): string[] {
    const chunks: string[] = [];
    if (!this.#started) {
      this.#started = true;
      chunks.push(this.#choice('{"role":"assistant","content":""}', 'null', 'null'));
    }
    for (const token of tokens) this.#encodeToken(token, chunks);
    return chunks;
  }

  /** Throws when the answer has not ended: a stream that just stops must not look complete. */
  assertFinished(): void {
    if (!this.#finish) throw new ChasquiError('internal_error', 'The answer ended without saying why.');
  }

  #encodeToken(token: Token, chunks: string[]): void {
    const entry = toLogprobEntry(token);
    if (entry) this.#logprobs.push(entry);
    if (token.text !== '') {
      chunks.push(this.#choice(`{"content":${JSON.stringify(token.text)}}`, this.#takeLogprobs(), 'null'));
    }
    if (token.finish) {
      this.#finish = token.finish;
      chunks.push(this.#choice('{}', this.#takeLogprobs(), `"${token.finish.reason}"`));
      if (this.#includeUsage) chunks.push(`${this.#head}[],"usage":${JSON.stringify(toUsage(token.finish))}}`);
    }
  }

  /** The arguments are JSON. */
  #choice(delta: string, logprobs: string, finishReason: string): string {
    const choice = `{"index":0,"delta":${delta},"logprobs":${logprobs},"finish_reason":${finishReason}}`;
    return `${this.#head}[${choice}]${this.#tail}`;
  }

  #takeLogprobs(): string {
    if (this.#logprobs.length === 0) return 'null';
    const json = JSON.stringify({ content: this.#logprobs, refusal: null });
    this.#logprobs = [];
    return json;
  }
}
