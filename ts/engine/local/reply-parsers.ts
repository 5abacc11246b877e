/** Parses the completions of jobs that have a format, a wake at a time. */
import { FIELDS_PER_RECORD, type NativeReplyFormat, type NativeReplyParser, RECORD_FLAGS } from '../../native/addon.js';
import type { ParsedText } from '../core.js';

type OpenParser = (format: NativeReplyFormat) => NativeReplyParser;

export class ReplyParsers {
  readonly #open: OpenParser;
  readonly #replies = new Map<number, ParsedReply>();
  readonly #touched = new Map<ParsedReply, number>();
  readonly #parsed = new Map<number, ParsedText>();

  constructor(open: OpenParser) {
    this.#open = open;
  }

  add(jobId: number, format: NativeReplyFormat): void {
    this.#replies.set(jobId, new ParsedReply(this.#open(format)));
  }

  remove(jobId: number): void {
    this.#replies.delete(jobId);
  }

  /** The result is reused by the next call; `undefined` while no job has a format. */
  read(records: Int32Array, count: number, text: string): ReadonlyMap<number, ParsedText> | undefined {
    if (this.#replies.size === 0) return undefined;
    this.#touched.clear();
    this.#parsed.clear();
    let textAt = 0;
    for (let index = 0; index < count; index += 1) {
      const at = index * FIELDS_PER_RECORD;
      const textEnd = textAt + (records[at + 2] as number);
      const reply = this.#replies.get(records[at] as number);
      const flags = records[at + 3] as number;
      if (reply && !(flags & RECORD_FLAGS.progress)) {
        reply.add(text.slice(textAt, textEnd), (flags & RECORD_FLAGS.finish) !== 0);
        if (flags & RECORD_FLAGS.failure) this.#touched.delete(reply);
        else this.#touched.set(reply, index);
        if (flags & (RECORD_FLAGS.finish | RECORD_FLAGS.failure)) this.remove(records[at] as number);
      }
      textAt = textEnd;
    }
    for (const [reply, index] of this.#touched) this.#parsed.set(index, reply.parse());
    return this.#parsed;
  }
}

class ParsedReply {
  readonly #parser: NativeReplyParser;
  /** Where each token's text ends in that of all tokens. */
  readonly #ends: number[] = [];
  #length = 0;
  #unread = '';
  #isLast = false;

  constructor(parser: NativeReplyParser) {
    this.#parser = parser;
  }

  add(text: string, isLast: boolean): void {
    this.#length += text.length;
    this.#ends.push(this.#length);
    this.#unread += text;
    this.#isLast ||= isLast;
  }

  parse(): ParsedText {
    const deltas = this.#parser.push(this.#unread, this.#isLast);
    this.#unread = '';
    return this.#isLast ? { deltas, reasoningTokens: this.#countUpTo(this.#parser.reasoningLength()) } : { deltas };
  }

  /** How many tokens begin before `length`. */
  #countUpTo(length: number): number {
    return this.#ends.filter((_, index) => (this.#ends[index - 1] ?? 0) < length).length;
  }
}
