/** Converts the engine's log-probabilities to OpenAI's form. */
import type { Token, TokenLogprob, TokenLogprobs } from '../../../engine/engine.js';
import type { LogprobEntry, PromptLogprobs } from './chat-reply-schema.js';

/** JSON has neither infinity nor NaN. OpenAI writes this number for the logarithm of zero. */
const IMPOSSIBLE = -9999;

/**
 * The entry for one token, or null without one. End-of-generation tokens have none, because they are not part of the
 * text. A completion that did not end at a stop string ends with such a token.
 */
export function toLogprobEntry(token: Token): LogprobEntry | null {
  if (!token.logprobs) return null;
  if (token.finish?.reason === 'stop' && token.finish.stopString === null) return null;
  return toEntry(token.logprobs);
}

export function toEntry(logprobs: TokenLogprobs): LogprobEntry {
  return { ...toAlternative(logprobs), top_logprobs: logprobs.top.map(toAlternative) };
}

/** Finds the tokens of the returned text. Text that may become a stop string arrives with a later token, or never. */
export class ReturnedTokens {
  #waiting: { start: number; token: Token }[] = [];
  /** Bytes of all tokens, and of the text so far. */
  #tokenBytes = 0;
  #textBytes = 0;

  /** Returns the tokens that are known to belong to the text, and at the end also those without text. */
  add(token: Token): Token[] {
    this.#waiting.push({ start: this.#tokenBytes, token });
    this.#tokenBytes += token.logprobs?.bytes.length ?? 0;
    // U+FFFD in the text has more bytes than the invalid bytes that it replaces.
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
  /** The bytes of all tokens with entries since the end of the last content, one per character. */
  #bytes = '';
  /** Number of bytes before them. */
  #passed = 0;

  add(token: Token): void {
    if (!token.logprobs) return;
    const entry = toLogprobEntry(token);
    if (!entry) return;
    const start = this.#passed + this.#bytes.length;
    // The token's text would be wrong: while it may become a stop string, it arrives with a later token.
    this.#bytes += Buffer.from(token.logprobs.bytes).toString('latin1');
    this.#waiting.push({ start, end: this.#passed + this.#bytes.length, entry });
  }

  /** Returns the entries of the tokens of `content`. Entries before it belong to no content and are discarded. */
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

/** Converts the log-probabilities of the tokens after the first to vLLM's form. */
export function toPromptLogprobs(logprobs: readonly TokenLogprobs[]): PromptLogprobs {
  const entries = logprobs.map((token) => {
    const { top } = token;
    const ranked = top.map((each, at) => [each.id, toRanked(each, at + 1)] as const);
    const own = top.some(({ id }) => id === token.id) ? [] : [[token.id, toRanked(token, null)] as const];
    return Object.fromEntries([...own, ...ranked]);
  });
  return [null, ...entries];
}

function toRanked(token: TokenLogprob, rank: number | null) {
  const { token: text, logprob } = toAlternative(token);
  return { logprob, rank, decoded_token: text };
}
