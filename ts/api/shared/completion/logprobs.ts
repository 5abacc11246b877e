/** The engine's log-probabilities → OpenAI's. */
import type { Token, TokenLogprob, TokenLogprobs } from '../../../engine/engine.js';
import type { LogprobEntry } from './chat-reply-schema.js';

/** JSON has neither infinity nor NaN; OpenAI writes the logarithm of zero like this. */
const IMPOSSIBLE = -9999;

/**
 * The entry for one token; null when there is none to report. An end-of-generation token is no part of the text, so it
 * has none: it is the last token of a completion that ended by itself, not by a stop string.
 */
export function toLogprobEntry(token: Token): LogprobEntry | null {
  if (!token.logprobs) return null;
  if (token.finish?.reason === 'stop' && token.finish.stopString === null) return null;
  return toEntry(token.logprobs);
}

export function toEntry(logprobs: TokenLogprobs): LogprobEntry {
  return { ...toAlternative(logprobs), top_logprobs: logprobs.top.map(toAlternative) };
}

/**
 * Finds the tokens of the returned text. Text that may become a stop string comes with a later token, or not at all.
 */
export class ReturnedTokens {
  #waiting: { start: number; token: Token }[] = [];
  /** Bytes of all tokens, and of the text so far. */
  #tokenBytes = 0;
  #textBytes = 0;

  /** Returns the tokens that are now known to belong to the text, and at the end also those that no text followed. */
  add(token: Token): Token[] {
    this.#waiting.push({ start: this.#tokenBytes, token });
    this.#tokenBytes += token.logprobs?.bytes.length ?? 0;
    // U+FFFD in the text has more bytes than what it replaces.
    this.#textBytes = Math.min(this.#textBytes + Buffer.byteLength(token.text), this.#tokenBytes);
    const hasEnded = token.finish !== undefined && token.finish.stopString === null;
    const first = this.#waiting.findIndex(({ start }) => start >= this.#textBytes);
    const count = hasEnded || first < 0 ? this.#waiting.length : first;
    return this.#waiting.splice(0, count).map((each) => each.token);
  }
}

/** Holds the entries of tokens until their text is sent. */
export class LogprobQueue {
  #waiting: { start: number; end: number; entry: LogprobEntry }[] = [];
  /** The bytes of all tokens that have entries, from the end of the last content on, one per character. */
  #bytes = '';
  /** How many bytes came before that. */
  #passed = 0;

  add(token: Token): void {
    if (!token.logprobs) return;
    const entry = toLogprobEntry(token);
    if (!entry) return;
    const start = this.#passed + this.#bytes.length;
    // Not the token's text: while that could become a stop string, it comes with a later token.
    this.#bytes += Buffer.from(token.logprobs.bytes).toString('latin1');
    this.#waiting.push({ start, end: this.#passed + this.#bytes.length, entry });
  }

  /**
   * Takes the entries of the tokens that make up `content`. Entries before it belong to no content and are discarded.
   */
  takeFor(content: string): LogprobEntry[] {
    if (this.#waiting.length === 0) return [];
    const bytes = Buffer.from(content).toString('latin1');
    const start = this.#passed + Math.max(this.#bytes.indexOf(bytes), 0);
    const end = start + bytes.length;
    const taken = this.#waiting.filter((each) => each.start < end);
    this.#waiting = this.#waiting.slice(taken.length);
    this.#bytes = this.#bytes.slice(end - this.#passed);
    this.#passed = end;
    return taken.filter((each) => each.end > start || each.start >= start).map(({ entry }) => entry);
  }
}

export function toAlternative(token: TokenLogprob): Omit<LogprobEntry, 'top_logprobs'> {
  return {
    token: Buffer.from(token.bytes).toString('utf8'),
    logprob: token.logprob >= IMPOSSIBLE ? Math.min(token.logprob, 0) : IMPOSSIBLE,
    bytes: Array.from(token.bytes),
  };
}
