/** The reply of `POST /v1/chat/completions`: whole, or in chunks. */
import type { FinishReason } from '../engine/engine.js';

export interface LogprobEntry {
  token: string;
  logprob: number;
  /** The token's bytes. Where they are a part of a character only, `token` shows a replacement character. */
  bytes: number[];
  top_logprobs: Omit<LogprobEntry, 'top_logprobs'>[];
}

export interface ChoiceLogprobs {
  content: LogprobEntry[];
  refusal: null;
}

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details: { cached_tokens: number };
  /** Present where the template tells reasoning apart, or there were tools. */
  completion_tokens_details?: { reasoning_tokens: number };
}

export interface ToolCallReply {
  id: string;
  type: 'function';
  /** `arguments` is JSON, as text. */
  function: { name: string; arguments: string };
}

/** The first delta of a call has its id and name; the later ones continue its arguments. */
export interface ToolCallDelta {
  /** Which of the completion's calls; they come one after the other. */
  index: number;
  id?: string;
  type?: 'function';
  function: { name?: string; arguments: string };
}

/** The names are llama.cpp's; times are in milliseconds. */
export interface TimingsReport {
  /** The time until the request was first scheduled. */
  queued_ms: number;
  /** The prompt's tokens that were found in the cache, and those that were computed. */
  cache_n: number;
  prompt_n: number;
  prompt_ms: number;
  prompt_per_second: number | null;
  predicted_n: number;
  /** The time from the first token to the last. */
  predicted_ms: number;
  predicted_per_second: number | null;
  /** How many tokens speculative decoding drafted, and how many were accepted; present where it drafted any. */
  draft_n?: number;
  draft_n_accepted?: number;
}

export interface ChatCompletion {
  id: string;
  object: 'chat.completion';
  /** Unix seconds. */
  created: number;
  model: string;
  system_fingerprint: string;
  choices: {
    index: number;
    message: {
      role: 'assistant';
      /** `null` when there are only tool calls. */
      content: string | null;
      refusal: null;
      reasoning_content?: string;
      tool_calls?: ToolCallReply[];
    };
    logprobs: ChoiceLogprobs | null;
    finish_reason: FinishReason | 'tool_calls';
  }[];
  usage: Usage;
  /** The times of the first choice; present only when `timings` asked for them. */
  timings?: TimingsReport;
}

export interface ChatCompletionChunk {
  id: string;
  object: 'chat.completion.chunk';
  created: number;
  model: string;
  /** Empty in the usage chunk only. */
  choices: {
    index: number;
    delta: {
      role?: 'assistant';
      /** In every chunk: a string, or null where the chunk brings something else. */
      content: string | null;
      reasoning_content?: string;
      tool_calls?: ToolCallDelta[];
    };
    logprobs: ChoiceLogprobs | null;
    finish_reason: FinishReason | 'tool_calls' | null;
  }[];
  /** Present only when `stream_options.include_usage` asked for it: `null` in all chunks but the last. */
  usage?: Usage | null;
  /** Present only when `timings` asked for it, in the chunk that ends a choice. */
  timings?: TimingsReport;
}

const string = { type: 'string' };
const integer = { type: 'integer' };
const tokenFields = { token: string, logprob: { type: 'number' }, bytes: { type: 'array', items: integer } };
const tokenOrder = ['token', 'logprob', 'bytes'];

export const logprobEntry = {
  type: 'object',
  required: [...tokenOrder, 'top_logprobs'],
  properties: {
    ...tokenFields,
    top_logprobs: { type: 'array', items: { type: 'object', required: tokenOrder, properties: tokenFields } },
  },
};

const toolCall = {
  type: 'object',
  required: ['id', 'type', 'function'],
  properties: {
    id: string,
    type: string,
    function: { type: 'object', required: ['name', 'arguments'], properties: { name: string, arguments: string } },
  },
};

const number = { type: 'number' };
const rate = { type: ['number', 'null'] };

const timings = {
  type: 'object',
  properties: {
    queued_ms: number,
    cache_n: integer,
    prompt_n: integer,
    prompt_ms: number,
    prompt_per_second: rate,
    predicted_n: integer,
    predicted_ms: number,
    predicted_per_second: rate,
    draft_n: integer,
    draft_n_accepted: integer,
  },
};

const choice = {
  type: 'object',
  required: ['index', 'message', 'logprobs', 'finish_reason'],
  properties: {
    index: integer,
    message: {
      type: 'object',
      required: ['role', 'content', 'refusal'],
      properties: {
        role: string,
        content: { type: ['string', 'null'] },
        refusal: { type: 'null' },
        reasoning_content: string,
        tool_calls: { type: 'array', items: toolCall },
      },
    },
    logprobs: {
      type: ['object', 'null'],
      required: ['content', 'refusal'],
      properties: { content: { type: 'array', items: logprobEntry }, refusal: { type: 'null' } },
    },
    finish_reason: string,
  },
};

/** Fastify compiles this schema into a function that serialises faster than `JSON.stringify`. */
export const chatCompletionReplySchema = {
  type: 'object',
  required: ['id', 'object', 'created', 'model', 'system_fingerprint', 'choices', 'usage'],
  properties: {
    id: string,
    object: string,
    created: integer,
    model: string,
    system_fingerprint: string,
    choices: { type: 'array', items: choice },
    usage: {
      type: 'object',
      required: ['prompt_tokens', 'completion_tokens', 'total_tokens', 'prompt_tokens_details'],
      properties: {
        prompt_tokens: integer,
        completion_tokens: integer,
        total_tokens: integer,
        prompt_tokens_details: { type: 'object', properties: { cached_tokens: integer } },
        completion_tokens_details: { type: 'object', properties: { reasoning_tokens: integer } },
      },
    },
    timings,
  },
};
