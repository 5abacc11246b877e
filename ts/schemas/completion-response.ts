/** The reply of `POST /v1/completions`: whole, or in chunks of the same shape. */
import type { FinishReason } from '../engine/engine.js';
import { chatCompletionReplySchema, type Usage } from './chat-response.js';
import { arrayOf, exactly, integer, number, objectOf, oneOf, orNull, string } from './json-schema.js';

/** Columns: one element for each token of the choice. */
export interface LegacyLogprobs {
  tokens: string[];
  token_logprobs: number[];
  /** Token → log-probability, of the most probable ones; null when none were asked for. */
  top_logprobs: Record<string, number>[] | null;
  /** Where the token begins in the text, in characters. */
  text_offset: number[];
}

export interface Completion {
  id: string;
  object: 'text_completion';
  /** Unix seconds. */
  created: number;
  model: string;
  system_fingerprint: string;
  /** The choices of the first prompt, then those of the second ... Empty in the usage chunk only. */
  choices: {
    index: number;
    text: string;
    logprobs: LegacyLogprobs | null;
    /** Null in all chunks of a choice but its last. */
    finish_reason: FinishReason | null;
  }[];
  /** In chunks only if `stream_options.include_usage` asked for it: null in all but the last. */
  usage?: Usage | null;
}

const { usage } = chatCompletionReplySchema.properties;

const logprobs = objectOf({
  tokens: arrayOf(string),
  token_logprobs: arrayOf(number),
  top_logprobs: orNull(arrayOf({ type: 'object', additionalProperties: number })),
  text_offset: arrayOf(integer),
});

const choice = objectOf({
  index: integer,
  text: string,
  logprobs: orNull(logprobs),
  finish_reason: orNull(oneOf('stop', 'length')),
});

const head = {
  id: string,
  object: exactly('text_completion'),
  created: integer,
  model: string,
  system_fingerprint: string,
  choices: arrayOf(choice),
};

export const completionReplySchema = objectOf({ ...head, usage });
export const completionChunkSchema = objectOf(head, { usage: orNull(usage) });
