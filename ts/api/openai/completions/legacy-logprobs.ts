/** Log-probabilities as columns, the form of completions before chats. */
import { StringDecoder } from 'node:string_decoder';
import type { Token, TokenLogprobs } from '../../../engine/engine.js';
import type { LogprobEntry } from '../../shared/completion/chat-reply-schema.js';
import { ReturnedTokens, toEntry, toLogprobEntry } from '../../shared/completion/logprobs.js';
import type { PromptTokens } from '../../shared/text/prompt-tokens.js';
import type { LegacyLogprobs } from './schema.js';

/** Gathers the tokens of one choice, in order. */
export class LogprobColumns {
  readonly #withTop: boolean;
  readonly #returned = new ReturnedTokens();
  /** Tokens that share a character all have the offset of that character. */
  readonly #decoder = new StringDecoder('utf8');
  #offset: number;
  #columns: LegacyLogprobs | null = null;
  #hasPrompt = false;

  /** `offset`: the characters before the first token. */
  constructor(options: { withTop: boolean; offset: number }) {
    this.#withTop = options.withTop;
    this.#offset = options.offset;
  }

  add(token: Token): void {
    if (token.logprobs) for (const returned of this.#returned.add(token)) this.#addReturned(returned);
  }

  /** Adds the echoed prompt. `logprobs`: of the tokens after the first. */
  addPrompt({ pieces }: PromptTokens, logprobs: readonly TokenLogprobs[]): void {
    this.#hasPrompt = true;
    // Tokens that the text does not contain, such as the one that begins every prompt, are at offset 0.
    const excess = characterCount(Buffer.concat(pieces).toString('utf8')) - this.#offset;
    this.#offset = 0;
    pieces.forEach((piece, index) => {
      const entry = logprobs[index - 1];
      this.#addEntry(piece, entry === undefined ? null : toEntry(entry));
    });
    const columns = this.#columns;
    if (columns) columns.text_offset = columns.text_offset.map((offset) => Math.max(0, offset - excess));
    this.#offset -= excess;
  }

  #addReturned(token: Token): void {
    // The last token counts after an echoed prompt, because clients cut it off.
    const entry = this.#hasPrompt && token.logprobs ? toEntry(token.logprobs) : toLogprobEntry(token);
    if (entry) this.#addEntry(Uint8Array.from(entry.bytes), entry);
  }

  #addEntry(piece: Uint8Array, entry: LogprobEntry | null): void {
    this.#columns ??= { tokens: [], token_logprobs: [], top_logprobs: this.#withTop ? [] : null, text_offset: [] };
    this.#columns.tokens.push(Buffer.from(piece).toString('utf8'));
    this.#columns.token_logprobs.push(entry?.logprob ?? null);
    this.#columns.top_logprobs?.push(
      entry && Object.fromEntries(entry.top_logprobs.map((top) => [top.token, top.logprob])),
    );
    this.#columns.text_offset.push(this.#offset);
    this.#offset += characterCount(this.#decoder.write(Buffer.from(piece)));
  }

  /** Returns the columns since the last call, or null without new tokens. */
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
