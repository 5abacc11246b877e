/** The reply of `POST /v1/chat/completions`: whole, or in chunks. */
import type { FinishReason } from '../engine/engine.js';

export interface LogprobEntry {
  token: string;
  logprob: number;
  /** A token may hold part of a character only; then `token` shows a replacement character, and this the truth. */
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
}

export interface ChatCompletion {
  id: string;
  object: 'chat.completion';
  /** Unix seconds. */
  created: number;
  model: string;
  choices: {
    index: number;
    message: { role: 'assistant'; content: string; refusal: null };
    logprobs: ChoiceLogprobs | null;
    finish_reason: FinishReason;
  }[];
  usage: Usage;
}

export interface ChatCompletionChunk {
  id: string;
  object: 'chat.completion.chunk';
  created: number;
  model: string;
  /** Empty in the usage chunk only. */
  choices: {
    index: number;
    delta: { role?: 'assistant'; content: string | null };
    logprobs: ChoiceLogprobs | null;
    finish_reason: FinishReason | null;
  }[];
  /** There only when `stream_options.include_usage` asked: `null` in all chunks but the last. */
  usage?: Usage | null;
}

const string = { type: 'string' };
const integer = { type: 'integer' };
const tokenFields = { token: string, logprob: { type: 'number' }, bytes: { type: 'array', items: integer } };
const tokenOrder = ['token', 'logprob', 'bytes'];

const logprobEntry = {
  type: 'object',
  required: [...tokenOrder, 'top_logprobs'],
  properties: {
    ...tokenFields,
    top_logprobs: { type: 'array', items: { type: 'object', required: tokenOrder, properties: tokenFields } },
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
      properties: { role: string, content: string, refusal: { type: 'null' } },
    },
    logprobs: {
      type: ['object', 'null'],
      required: ['content', 'refusal'],
      properties: { content: { type: 'array', items: logprobEntry }, refusal: { type: 'null' } },
    },
    finish_reason: string,
  },
};

/** For serialisation: Fastify compiles it into a function that is faster than `JSON.stringify`. */
export const chatCompletionReplySchema = {
  type: 'object',
  required: ['id', 'object', 'created', 'model', 'choices', 'usage'],
  properties: {
    id: string,
    object: string,
    created: integer,
    model: string,
    choices: { type: 'array', items: choice },
    usage: {
      type: 'object',
      required: ['prompt_tokens', 'completion_tokens', 'total_tokens', 'prompt_tokens_details'],
      properties: {
        prompt_tokens: integer,
        completion_tokens: integer,
        total_tokens: integer,
        prompt_tokens_details: { type: 'object', properties: { cached_tokens: integer } },
      },
    },
  },
};
