/** The reply of `POST /v1/chat/completions`: whole, or in chunks. */
import type { FinishReason } from '../../../engine/engine.js';
import * as s from '../../../http/schema/json-schema.js';

/** The schema of the whole reply says only `string`. Chunks have an enum. */
function word<Word extends string>(): s.Schema<Word> {
  return s.typed(s.string);
}

const tokenFields = {
  token: s.string,
  logprob: s.number,
  /** The token's bytes. If they are only part of a character, `token` has a replacement character. */
  bytes: s.arrayOf(s.integer),
};

export const logprobEntry = s.objectOf({ ...tokenFields, top_logprobs: s.arrayOf(s.objectOf(tokenFields)) });

export const choiceLogprobs = s.orNull(s.objectOf({ content: s.arrayOf(logprobEntry), refusal: s.nothing }));

export const usage = s.objectOf(
  {
    prompt_tokens: s.integer,
    completion_tokens: s.integer,
    total_tokens: s.integer,
    prompt_tokens_details: s.objectOf({ cached_tokens: s.integer }),
  },
  {
    /** Present in chats. */
    completion_tokens_details: s.objectOf({ reasoning_tokens: s.integer }),
  },
);

const calledFunction = s.objectOf({
  name: s.string,
  /** JSON, as text. */
  arguments: s.string,
});

const toolCall = s.objectOf(
  { id: s.string, type: word<'function' | 'custom'>() },
  {
    /** Present in calls of functions. */
    function: calledFunction,
    /** Present in calls of custom tools. */
    custom: s.objectOf({
      name: s.string,
      /** Free text. */
      input: s.string,
    }),
  },
);

/** The names are llama.cpp's; times are in milliseconds. */
export const timings = s.objectOf(
  {
    /** The time until the request was first scheduled. */
    queued_ms: s.number,
    /** The tokens of the prompt from the cache, and the computed ones. */
    cache_n: s.integer,
    prompt_n: s.integer,
    prompt_ms: s.number,
    prompt_per_second: s.number,
    predicted_n: s.integer,
    /** The time between the first and the last token. */
    predicted_ms: s.number,
    predicted_per_second: s.number,
  },
  {
    /** Number of drafted and accepted tokens. Absent without drafts. */
    draft_n: s.integer,
    draft_n_accepted: s.integer,
  },
);

/** Times before the end of a completion, measured by the server. */
export const timingsSoFar = s.objectOf({
  /** The tokens of the prompt from the cache, and those computed so far. */
  cache_n: s.integer,
  prompt_n: s.integer,
  /** The time until the first token arrived. */
  prompt_ms: s.number,
  prompt_per_second: s.number,
  predicted_n: s.integer,
  predicted_ms: s.number,
  predicted_per_second: s.number,
});

/** Sent before the first token of a stream with `return_progress`. */
export const promptProgress = s.objectOf({
  /** The tokens of the prompt; the cached ones; the cached and computed ones. */
  total: s.integer,
  cache: s.integer,
  processed: s.integer,
  time_ms: s.integer,
});

/** The token and its most probable alternatives, by id. */
const alternatives = s.recordOf(
  s.objectOf({
    logprob: s.number,
    /** From 1 for the most probable token; null if it is not among the alternatives. */
    rank: s.orNull(s.integer),
    decoded_token: s.string,
  }),
);

/** In the form of vLLM; null for the first token. */
export const promptLogprobs = s.arrayOf(s.orNull(alternatives));

const nativeTimings = { prompt_per_token_ms: s.number, predicted_per_token_ms: s.number };

/** The fields of a `/completion` reply that its end determines. */
export const nativeEnding = {
  /** Whether the completion ended because the context was full. Prompts are never shortened. */
  truncated: s.boolean,
  stop_type: s.oneOf('eos', 'limit', 'word'),
  stopping_word: s.string,
  /** The prompt's tokens that were found in the cache. */
  tokens_cached: s.integer,
  timings: s.typed<object>({ ...timings, properties: { ...timings.properties, ...nativeTimings } }),
};

/** The settings of a job under llama.cpp's names. */
export const generationSettings = s.typed<Record<string, unknown>>({ type: 'object', additionalProperties: true });

/** The prompt, settings and end of a chat, named as in replies of `/completion`. */
export const verboseReport = s.objectOf({
  index: s.integer,
  id_slot: s.integer,
  stop: s.boolean,
  model: s.string,
  prompt: s.string,
  generation_settings: generationSettings,
  tokens_predicted: s.integer,
  tokens_evaluated: s.integer,
  ...nativeEnding,
});
export type VerboseReport = s.Static<typeof verboseReport>;

const choice = s.objectOf({
  index: s.integer,
  message: s.objectOf(
    {
      role: word<'assistant'>(),
      /** `null` when there are only tool calls. */
      content: s.orNull(s.string),
      refusal: s.nothing,
    },
    {
      reasoning_content: s.string,
      tool_calls: s.arrayOf(toolCall),
      /** In place of `tool_calls` if the request has `functions`. */
      function_call: calledFunction,
    },
  ),
  logprobs: choiceLogprobs,
  finish_reason: word<FinishReason | 'tool_calls' | 'function_call'>(),
});

export const chatCompletionReplySchema = s.objectOf(
  {
    id: s.string,
    object: word<'chat.completion'>(),
    /** Unix seconds. */
    created: s.integer,
    model: s.string,
    system_fingerprint: s.string,
    choices: s.arrayOf(choice),
    usage,
  },
  {
    /** The times of the first choice. Present only with `timings`. */
    timings,
    /** Present only if the request has this field. */
    prompt_logprobs: promptLogprobs,
    /** Present only with the option `verbose`. */
    __verbose: verboseReport,
  },
);

export type PromptLogprobs = s.Static<typeof promptLogprobs>;
export type LogprobEntry = s.Static<typeof logprobEntry>;
export type Usage = s.Static<typeof usage>;
export type ToolCallReply = s.Static<typeof toolCall>;
export type PromptProgressReport = s.Static<typeof promptProgress>;
export type TimingsReport = s.Static<typeof timings>;
export type TimingsSoFar = s.Static<typeof timingsSoFar>;
export type ChatCompletion = s.Static<typeof chatCompletionReplySchema>;

/** The reply of endpoints that count the tokens of a prompt. */
export const inputTokensSchema = s.objectOf({ object: s.exactly('response.input_tokens'), input_tokens: s.integer });

export type InputTokens = s.Static<typeof inputTokensSchema>;
