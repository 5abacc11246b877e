/** The reply of `POST /v1/chat/completions`: whole, or in chunks. */
import type { FinishReason } from '../../../engine/engine.js';
import {
  arrayOf,
  exactly,
  integer,
  nothing,
  number,
  objectOf,
  orNull,
  type Schema,
  type Static,
  string,
  typed,
} from '../../../http/schema/json-schema.js';

/** An enum in chunks. The schema of the whole reply says only `string`, which is serialised fastest. */
function word<Word extends string>(): Schema<Word> {
  return typed(string);
}

const tokenFields = {
  token: string,
  logprob: number,
  /** The token's bytes. If they are only part of a character, `token` has a replacement character. */
  bytes: arrayOf(integer),
};

export const logprobEntry = objectOf({ ...tokenFields, top_logprobs: arrayOf(objectOf(tokenFields)) });

export const choiceLogprobs = orNull(objectOf({ content: arrayOf(logprobEntry), refusal: nothing }));

export const usage = objectOf(
  {
    prompt_tokens: integer,
    completion_tokens: integer,
    total_tokens: integer,
    prompt_tokens_details: objectOf({ cached_tokens: integer }),
  },
  {
    /** Present in chats. */
    completion_tokens_details: objectOf({ reasoning_tokens: integer }),
  },
);

const calledFunction = objectOf({
  name: string,
  /** JSON, as text. */
  arguments: string,
});

const toolCall = objectOf(
  { id: string, type: word<'function' | 'custom'>() },
  {
    /** Present in calls of functions. */
    function: calledFunction,
    /** Present in calls of custom tools. */
    custom: objectOf({
      name: string,
      /** Free text. */
      input: string,
    }),
  },
);

/** The names are llama.cpp's; times are in milliseconds. */
export const timings = objectOf(
  {
    /** The time until the request was first scheduled. */
    queued_ms: number,
    /** The prompt's tokens that were found in the cache, and those that were computed. */
    cache_n: integer,
    prompt_n: integer,
    prompt_ms: number,
    prompt_per_second: number,
    predicted_n: integer,
    /** The time from the first token to the last. */
    predicted_ms: number,
    predicted_per_second: number,
  },
  {
    /** How many tokens speculative decoding drafted, and how many were accepted; present where it drafted any. */
    draft_n: integer,
    draft_n_accepted: integer,
  },
);

/** What is known before the end of a completion, as the server sees it. */
export const timingsSoFar = objectOf({
  /** The tokens of the prompt that were there already, and those that have been computed. */
  cache_n: integer,
  prompt_n: integer,
  /** The time until the first token arrived. */
  prompt_ms: number,
  prompt_per_second: number,
  predicted_n: integer,
  predicted_ms: number,
  predicted_per_second: number,
});

/** Sent before the first token of a stream with `return_progress`. */
export const promptProgress = objectOf({
  /** The tokens of the prompt, those that were cached, and those that are computed or were cached. */
  total: integer,
  cache: integer,
  processed: integer,
  time_ms: integer,
});

const choice = objectOf({
  index: integer,
  message: objectOf(
    {
      role: word<'assistant'>(),
      /** `null` when there are only tool calls. */
      content: orNull(string),
      refusal: nothing,
    },
    {
      reasoning_content: string,
      tool_calls: arrayOf(toolCall),
      /** In place of `tool_calls` if the request has `functions`. */
      function_call: calledFunction,
    },
  ),
  logprobs: choiceLogprobs,
  finish_reason: word<FinishReason | 'tool_calls' | 'function_call'>(),
});

/** Fastify compiles this schema into a function that serialises faster than `JSON.stringify`. */
export const chatCompletionReplySchema = objectOf(
  {
    id: string,
    object: word<'chat.completion'>(),
    /** Unix seconds. */
    created: integer,
    model: string,
    system_fingerprint: string,
    choices: arrayOf(choice),
    usage,
  },
  {
    /** The times of the first choice; present only when `timings` asked for them. */
    timings,
  },
);

export type LogprobEntry = Static<typeof logprobEntry>;
export type Usage = Static<typeof usage>;
export type ToolCallReply = Static<typeof toolCall>;
export type PromptProgressReport = Static<typeof promptProgress>;
export type TimingsReport = Static<typeof timings>;
export type TimingsSoFar = Static<typeof timingsSoFar>;
export type ChatCompletion = Static<typeof chatCompletionReplySchema>;

/** The reply of endpoints that count the tokens of a prompt. */
export const inputTokensSchema = objectOf({ object: exactly('response.input_tokens'), input_tokens: integer });

export type InputTokens = Static<typeof inputTokensSchema>;
