/** The reply of `POST /v1/completions`. Chunks have the same shape. */

import * as s from '../../../http/schema/json-schema.js';
import {
  promptLogprobs,
  promptProgress,
  timings,
  timingsSoFar,
  usage,
} from '../../shared/completion/chat-reply-schema.js';

/** Columns: one element for each token of the choice. */
const logprobs = s.objectOf({
  tokens: s.arrayOf(s.string),
  /** Null for the first token of an echoed prompt. */
  token_logprobs: s.arrayOf(s.orNull(s.number)),
  /** Token → log-probability of the most probable tokens; null if the request does not ask for them. */
  top_logprobs: s.orNull(s.arrayOf(s.orNull(s.recordOf(s.number)))),
  /** Offset of the token in the text, in characters. */
  text_offset: s.arrayOf(s.integer),
});

const choice = s.objectOf(
  {
    index: s.integer,
    text: s.string,
    logprobs: s.orNull(logprobs),
    /** Null in all chunks of a choice but its last. */
    finish_reason: s.orNull(s.oneOf('stop', 'length')),
  },
  /** In the first chunk of a choice, if the request has this field; null for the first token. */
  { prompt_logprobs: promptLogprobs },
);

const head = {
  id: s.string,
  object: s.exactly('text_completion'),
  /** Unix seconds. */
  created: s.integer,
  model: s.string,
  system_fingerprint: s.string,
  /** The choices of the first prompt, then those of the second, and so on. Empty only in the usage chunk. */
  choices: s.arrayOf(choice),
};

/** Includes `timings` only on request. */
export const completionReplySchema = s.objectOf({ ...head, usage }, { timings });
/**
 * Includes `usage` only with `stream_options.include_usage`: null in all chunks but the last. The final timings come
 * with the last chunk of a choice.
 */
export const completionChunkSchema = s.objectOf(head, {
  usage: s.orNull(usage),
  timings: s.anyOf(timings, timingsSoFar),
  /** Present only with `return_progress`, in chunks before the first text of a prompt. */
  prompt_progress: promptProgress,
});

export type LegacyLogprobs = s.Static<typeof logprobs>;
export type Completion = s.Static<typeof completionChunkSchema>;
