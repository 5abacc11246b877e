import { ChasquiError, type ErrorCode } from '../errors.js';
import { FIELDS_PER_RECORD, type NativeFailure, type NativeLogprobs, RECORD_FLAGS } from '../native/addon.js';
import { GROWTH_FLAGS, type ParsedText } from './core.js';
import type { Finish, Token } from './engine-types.js';
import type { JobStream } from './token-stream.js';

/** Dispatches the events of one wake to their streams, then wakes each reader once. */
export function deliver(
  streams: ReadonlyMap<number, JobStream>,
  records: Int32Array,
  count: number,
  text: string,
  extras: readonly unknown[],
  parsed?: ReadonlyMap<number, ParsedText>,
): void {
  const touched: JobStream[] = [];
  let textAt = 0;
  let extraAt = 0;
  for (let at = 0; at < count * FIELDS_PER_RECORD; at += FIELDS_PER_RECORD) {
    const textEnd = textAt + (records[at + 2] as number);
    const flags = records[at + 3] as number;
    if (flags & RECORD_FLAGS.progress) {
      streams.get(records[at] as number)?.progress(records[at + 1] as number);
      continue;
    }
    const token: Token = { id: records[at + 1] as number, text: text.slice(textAt, textEnd) };
    textAt = textEnd;
    if (flags & RECORD_FLAGS.logprobs) token.logprobs = extras[extraAt++] as NativeLogprobs;
    if (flags & RECORD_FLAGS.finish) token.finish = extras[extraAt++] as Finish;
    const grown = parsed?.get(at / FIELDS_PER_RECORD);
    if (grown !== undefined) addParsed(token, grown);
    else if (flags & GROWTH_FLAGS.content) token.deltas = [{ content: token.text }];
    else if (flags & GROWTH_FLAGS.reasoning) token.deltas = [{ reasoning: token.text }];
    const failure = flags & RECORD_FLAGS.failure ? (extras[extraAt++] as NativeFailure) : null;
    // The engine may produce one more token after the reader has left.
    const stream = streams.get(records[at] as number);
    if (stream === undefined) continue;
    if (failure !== null) stream.fail(toError(failure));
    else if (stream.push(token)) touched.push(stream);
  }
  for (const stream of touched) stream.flush();
}

function addParsed(token: Token, { deltas, reasoningTokens }: ParsedText): void {
  token.deltas = deltas;
  if (token.finish && reasoningTokens !== undefined) token.finish.reasoningTokens = reasoningTokens;
}

function toError({ code, message, imageIndex, promptTokens, contextLength }: NativeFailure): ChasquiError {
  const error = new ChasquiError(code as ErrorCode, message);
  return Object.assign(error, { imageIndex, promptTokens, contextLength });
}
