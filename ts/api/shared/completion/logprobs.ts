/** The engine's log-probabilities → OpenAI's. */
import type { Token, TokenLogprob } from '../../../engine/engine.js';
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
  return { ...toAlternative(token.logprobs), top_logprobs: token.logprobs.top.map(toAlternative) };
}

/** Holds the entries of tokens until their text is sent. */
export class LogprobQueue {
  #waiting: { start: number; end: number; entry: LogprobEntry }[] = [];
  /** The text of all tokens that have entries, from the end of the last content on. */
  #text = '';
  /** The length of the text before that. */
  #passed = 0;

  add(token: Token): void {
    if (!token.logprobs) return;
    const entry = toLogprobEntry(token);
    if (!entry) return;
    const start = this.#passed + this.#text.length;
    this.#text += token.text;
    this.#waiting.push({ start, end: start + token.text.length, entry });
  }

  takeAll(): LogprobEntry[] {
    const entries = this.#waiting.map(({ entry }) => entry);
    this.#waiting = [];
    this.#text = '';
    return entries;
  }

  /**
   * Takes the entries of the tokens that make up `content`. Entries before it belong to no content and are discarded.
   */
  takeFor(content: string): LogprobEntry[] {
    if (this.#waiting.length === 0) return [];
    const start = this.#passed + Math.max(this.#text.indexOf(content), 0);
    const end = start + content.length;
    const taken = this.#waiting.filter((each) => each.start < end);
    this.#waiting = this.#waiting.slice(taken.length);
    this.#text = this.#text.slice(end - this.#passed);
    this.#passed = end;
    return taken.filter((each) => each.end > start || each.start >= start).map(({ entry }) => entry);
  }
}

function toAlternative(token: TokenLogprob): Omit<LogprobEntry, 'top_logprobs'> {
  return {
    token: Buffer.from(token.bytes).toString('utf8'),
    logprob: token.logprob >= IMPOSSIBLE ? Math.min(token.logprob, 0) : IMPOSSIBLE,
    bytes: Array.from(token.bytes),
  };
}
