/** The reply of `POST /v1/completions`: whole, or in chunks of the same shape. */

import {
  anyOf,
  arrayOf,
  exactly,
  integer,
  number,
  objectOf,
  oneOf,
  orNull,
  recordOf,
  type Static,
  string,
} from '../../../http/schema/json-schema.js';
import { promptProgress, timings, timingsSoFar, usage } from '../../shared/completion/chat-reply-schema.js';

/** Columns: one element for each token of the choice. */
const logprobs = objectOf({
  tokens: arrayOf(string),
  /** Null of the first token of an echoed prompt. */
  token_logprobs: arrayOf(orNull(number)),
  /** Token → log-probability, of the most probable ones; null when none were asked for. */
  top_logprobs: orNull(arrayOf(orNull(recordOf(number)))),
  /** Offset of the token in the text, in characters. */
  text_offset: arrayOf(integer),
});

/** The token and its most probable alternatives, by id. */
const alternatives = recordOf(
  objectOf({
    logprob: number,
    /** From 1 for the most probable token; null if it is not among the alternatives. */
    rank: orNull(integer),
    decoded_token: string,
  }),
);

const choice = objectOf(
  {
    index: integer,
    text: string,
    logprobs: orNull(logprobs),
    /** Null in all chunks of a choice but its last. */
    finish_reason: orNull(oneOf('stop', 'length')),
  },
  /** In the first chunk of a choice, if the request has this field; null for the first token. */
  { prompt_logprobs: arrayOf(orNull(alternatives)) },
);

const head = {
  id: string,
  object: exactly('text_completion'),
  /** Unix seconds. */
  created: integer,
  model: string,
  system_fingerprint: string,
  /** The choices of the first prompt, then those of the second ... Empty in the usage chunk only. */
  choices: arrayOf(choice),
};

/** With `timings` only if they were asked for. */
export const completionReplySchema = objectOf({ ...head, usage }, { timings });
/**
 * With `usage` only if `stream_options.include_usage` asked for it: null in all but the last. Whole timings come with the
 * end of a choice.
 */
export const completionChunkSchema = objectOf(head, {
  usage: orNull(usage),
  timings: anyOf(timings, timingsSoFar),
  /** In chunks before the first text of a prompt, when `return_progress` asked for it. */
  prompt_progress: promptProgress,
});

export type PromptLogprobs = Static<typeof choice>['prompt_logprobs'];
export type LegacyLogprobs = Static<typeof logprobs>;
export type Completion = Static<typeof completionChunkSchema>;
