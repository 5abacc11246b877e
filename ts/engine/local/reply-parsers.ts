/** Parses the completions of jobs with a format, once per wake. */
import { FIELDS_PER_RECORD, type NativeReplyFormat, type NativeReplyParser, RECORD_FLAGS } from '../../native/addon.js';
import { GROWTH_FLAGS, type ParsedText } from '../core.js';

type OpenParser = (format: NativeReplyFormat) => NativeReplyParser;

export class ReplyParsers {
  readonly #replies = new Map<number, ParsedReply>();
  /** Replies with tokens in the current wake. Reused, because a new list or map would grow in every wake. */
  readonly #touched: ParsedReply[] = [];
  readonly #parsed = new Map<number, ParsedText>();
  /** Called while a completion repeats a required call. */
  onRepeatedCall: (jobId: number) => void = () => {};

  constructor(private readonly open: OpenParser) {}

  add(jobId: number, format: NativeReplyFormat): void {
    this.#replies.set(jobId, new ParsedReply(this.open(format)));
  }

  remove(jobId: number): void {
    this.#replies.delete(jobId);
  }

  /**
   * Sets growth flags in the records. Returns the growth that flags cannot express; the map is reused by the next call.
   * `undefined` while no job has a format.
   */
  read(records: Int32Array, count: number, text: string): ReadonlyMap<number, ParsedText> | undefined {
    if (this.#replies.size === 0) return undefined;
    this.#touched.length = 0;
    this.#parsed.clear();
    let textAt = 0;
    for (let index = 0; index < count; index += 1) {
      const at = index * FIELDS_PER_RECORD;
      const textEnd = textAt + (records[at + 2] as number);
      const reply = this.#replies.get(records[at] as number);
      const flags = records[at + 3] as number;
      if (reply && !(flags & (RECORD_FLAGS.progress | RECORD_FLAGS.prompt))) {
        if (reply.record === null) this.#touched.push(reply);
        reply.add(text.slice(textAt, textEnd), (flags & RECORD_FLAGS.finish) !== 0);
        reply.record = flags & RECORD_FLAGS.failure ? null : index;
        if (flags & (RECORD_FLAGS.finish | RECORD_FLAGS.failure)) this.remove(records[at] as number);
      }
      textAt = textEnd;
    }
    for (const reply of this.#touched) this.#parse(reply, records);
    return this.#parsed;
  }

  #parse(reply: ParsedReply, records: Int32Array): void {
    const { record } = reply;
    if (record === null) return;
    reply.record = null;
    const parsed = reply.parse();
    if (reply.repeats()) this.onRepeatedCall(records[record * FIELDS_PER_RECORD] as number);
    const flag = growthFlag(parsed, reply.lastText);
    const flagsAt = record * FIELDS_PER_RECORD + 3;
    if (flag === 0) this.#parsed.set(record, parsed);
    else records[flagsAt] = (records[flagsAt] as number) | flag;
  }
}

/** Returns 0 if the growth is more than `text`. */
function growthFlag({ deltas, reasoningTokens }: ParsedText, text: string): number {
  const delta = deltas[0];
  if (delta === undefined || deltas.length > 1 || reasoningTokens !== undefined) return 0;
  const { content, reasoning, toolIndex } = delta;
  if (toolIndex !== undefined) return 0;
  if (reasoning === undefined && content === text) return GROWTH_FLAGS.content;
  return content === undefined && reasoning === text ? GROWTH_FLAGS.reasoning : 0;
}

class ParsedReply {
  /** End of each token's text in the whole text. */
  readonly #ends: number[] = [];
  #length = 0;
  #unread = '';
  #isLast = false;
  lastText = '';
  /** Index of its last record in the current wake; `null`: none, or a failure. */
  record: number | null = null;

  constructor(private readonly parser: NativeReplyParser) {}

  add(text: string, isLast: boolean): void {
    this.#length += text.length;
    this.#ends.push(this.#length);
    this.#unread += text;
    this.lastText = text;
    this.#isLast ||= isLast;
  }

  parse(): ParsedText {
    const deltas = this.parser.push(this.#unread, this.#isLast);
    this.#unread = '';
    return this.#isLast ? { deltas, reasoningTokens: this.#countUpTo(this.parser.reasoningLength()) } : { deltas };
  }

  /** False after the last token. */
  repeats(): boolean {
    return !this.#isLast && this.parser.repeats();
  }

  /** Counts the tokens that begin before `length`. */
  #countUpTo(length: number): number {
    return this.#ends.filter((_, index) => (this.#ends[index - 1] ?? 0) < length).length;
  }
}
