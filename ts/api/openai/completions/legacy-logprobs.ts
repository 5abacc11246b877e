/** Log-probabilities as columns, the form that completions had before chats. */
import { StringDecoder } from 'node:string_decoder';
import type { Token } from '../../../engine/engine.js';
import { ReturnedTokens, toLogprobEntry } from '../../shared/completion/logprobs.js';
import type { LegacyLogprobs } from './schema.js';

/** Gathers the tokens of one choice, in order. */
export class LogprobColumns {
  readonly #withTop: boolean;
  readonly #returned = new ReturnedTokens();
  /** A character may be spread over several tokens, which then all have the character's offset. */
  readonly #decoder = new StringDecoder('utf8');
  #offset: number;
  #columns: LegacyLogprobs | null = null;

  /** `offset`: the characters before the first token. */
  constructor(options: { withTop: boolean; offset: number }) {
    this.#withTop = options.withTop;
    this.#offset = options.offset;
  }

  add(token: Token): void {
    if (token.logprobs) for (const returned of this.#returned.add(token)) this.#addReturned(returned);
  }

  #addReturned(token: Token): void {
    const entry = toLogprobEntry(token);
    if (!entry) return;
    this.#columns ??= { tokens: [], token_logprobs: [], top_logprobs: this.#withTop ? [] : null, text_offset: [] };
    this.#columns.tokens.push(entry.token);
    this.#columns.token_logprobs.push(entry.logprob);
    this.#columns.top_logprobs?.push(Object.fromEntries(entry.top_logprobs.map((top) => [top.token, top.logprob])));
    this.#columns.text_offset.push(this.#offset);
    this.#offset += characterCount(this.#decoder.write(Buffer.from(entry.bytes)));
  }

  /** Returns the columns since the last call; null when there was no token. */
  take(): LegacyLogprobs | null {
    const columns = this.#columns;
    this.#columns = null;
    return columns;
  }
}

/** Counts characters as Python does, because clients cut the text with these numbers. */
export function characterCount(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
