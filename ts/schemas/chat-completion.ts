/**
 * The body of `POST /v1/chat/completions`. Only impossible values are refused; unusual ones are the caller's choice.
 * Every field may also be `null`, which means absent: nulls are removed before the schema is applied.
 */
import { type Message, messageSchema } from './message.js';
import { type ModelUse, modelUseSchemas } from './model-use.js';
import { type Tool, type ToolChoice, toolChoiceSchema, toolSchema } from './tool.js';

export interface ChatCompletionRequest extends ModelUse {
  model: string;
  messages: Message[];
  stream?: boolean;
  stream_options?: { include_usage?: boolean | null };
  temperature?: number;
  top_p?: number;
  top_k?: number;
  min_p?: number;
  /** The penalty on repeated tokens, under the name that the runtime mode has for it. */
  repetition_penalty?: number;
  /** The same under the desktop mode's name. */
  repeat_penalty?: number;
  presence_penalty?: number;
  frequency_penalty?: number;
  max_tokens?: number;
  /** OpenAI's newer name for `max_tokens`; it wins when both are there. */
  max_completion_tokens?: number;
  stop?: string | string[];
  seed?: number;
  n?: number;
  logprobs?: boolean;
  top_logprobs?: number;
  /** Token id → what is added to its logit. */
  logit_bias?: Record<string, number>;
  /** From llama.cpp: generation goes on past the end of text, for measuring. */
  ignore_eos?: boolean;
  /** From llama.cpp: false computes the whole prompt anew. */
  cache_prompt?: boolean;
  /** Higher ones are served first; the default is 0. */
  priority?: number;
  response_format?: ResponseFormat;
  tools?: Tool[];
  tool_choice?: ToolChoice;
  parallel_tool_calls?: boolean;
  functions?: unknown[];
  /** From llama.cpp: what the completion must match, in GBNF. */
  grammar?: string;
  reasoning_effort?: string;
  /** From llama.cpp: variables of the chat template. */
  chat_template_kwargs?: Record<string, unknown>;
  /** Reports times and rates with the completion. */
  timings?: boolean;
  /** From llama.cpp: the adapters to compute with, by their places or names; others have no effect. */
  lora?: RequestedAdapter[];
}

export interface RequestedAdapter {
  id: number | string;
  scale?: number;
}

export interface ResponseFormat {
  type: 'text' | 'json_object' | 'json_schema';
  json_schema?: { name?: string; schema?: object | null; strict?: boolean | null };
}

export type ChatParameter = keyof ChatCompletionRequest;

export const MAX_STOP_STRINGS = 16;
/** In characters. Text is held back for as long as it may become a stop string. */
export const MAX_STOP_STRING_LENGTH = 1000;
export const MAX_CHOICES = 128;
export const MAX_TOP_LOGPROBS = 20;
/** Every step of every choice visits each of them. This is enough to ban a whole script from a large vocabulary. */
export const MAX_LOGIT_BIASES = 16_384;
/** Templates use a dozen variables at most. */
export const MAX_TEMPLATE_VARIABLES = 64;
export const MAX_PRIORITY = 100;
/** As many as a model may be loaded with. */
export const MAX_ADAPTERS = 64;
export const MAX_ADAPTER_SCALE = 100;

export const stopString = { type: 'string', minLength: 1, maxLength: MAX_STOP_STRING_LENGTH };

const parameterSchemas: Record<ChatParameter, object> = {
  model: { type: 'string' },
  messages: { type: 'array', minItems: 1, items: messageSchema },
  stream: { type: 'boolean' },
  stream_options: { type: 'object', properties: { include_usage: { type: ['boolean', 'null'] } } },
  temperature: { type: 'number', minimum: 0 },
  top_p: { type: 'number', minimum: 0, maximum: 1 },
  top_k: { type: 'integer', minimum: 0 },
  min_p: { type: 'number', minimum: 0, maximum: 1 },
  repetition_penalty: { type: 'number', exclusiveMinimum: 0 },
  repeat_penalty: { type: 'number', exclusiveMinimum: 0 },
  presence_penalty: { type: 'number' },
  frequency_penalty: { type: 'number' },
  max_tokens: { type: 'integer', minimum: 1 },
  max_completion_tokens: { type: 'integer', minimum: 1 },
  stop: { ...stopString, type: ['string', 'array'], maxItems: MAX_STOP_STRINGS, items: stopString },
  seed: { type: 'integer', minimum: -(2 ** 63), maximum: 2 ** 64 },
  n: { type: 'integer', minimum: 1, maximum: MAX_CHOICES },
  logprobs: { type: 'boolean' },
  top_logprobs: { type: 'integer', minimum: 0, maximum: MAX_TOP_LOGPROBS },
  logit_bias: {
    type: 'object',
    // Without leading zeros each token has one name only.
    propertyNames: { type: 'string', pattern: '^(0|[1-9][0-9]{0,8})$' },
    maxProperties: MAX_LOGIT_BIASES,
    additionalProperties: { type: 'number' },
  },
  ignore_eos: { type: 'boolean' },
  cache_prompt: { type: 'boolean' },
  priority: { type: 'integer', minimum: -MAX_PRIORITY, maximum: MAX_PRIORITY },
  response_format: {
    type: 'object',
    required: ['type'],
    properties: {
      type: { enum: ['text', 'json_object', 'json_schema'] },
      json_schema: {
        type: ['object', 'null'],
        properties: {
          name: { type: ['string', 'null'] },
          schema: { type: ['object', 'null'] },
          strict: { type: ['boolean', 'null'] },
        },
      },
    },
  },
  tools: { type: 'array', items: toolSchema },
  tool_choice: toolChoiceSchema,
  parallel_tool_calls: { type: 'boolean' },
  functions: { type: 'array' },
  grammar: { type: 'string', minLength: 1 },
  reasoning_effort: { enum: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'] },
  chat_template_kwargs: {
    type: 'object',
    maxProperties: MAX_TEMPLATE_VARIABLES,
    properties: { enable_thinking: { type: 'boolean' } },
  },
  timings: { type: 'boolean' },
  lora: {
    type: 'array',
    maxItems: MAX_ADAPTERS,
    items: {
      type: 'object',
      required: ['id'],
      properties: {
        id: { type: ['integer', 'string'], minimum: 0 },
        scale: { type: 'number', minimum: -MAX_ADAPTER_SCALE, maximum: MAX_ADAPTER_SCALE },
      },
    },
  },
  ...modelUseSchemas,
};

/** Whether any mode knows a field of this name. */
export function isParameter(name: string): name is ChatParameter {
  return Object.hasOwn(parameterSchemas, name);
}

/** The schema for a mode that supports `parameters`; it does not check other fields of a body. */
export function chatCompletionSchema(parameters: readonly ChatParameter[]): object {
  return {
    type: 'object',
    required: ['model', 'messages'],
    properties: Object.fromEntries(parameters.map((name) => [name, parameterSchemas[name]])),
  };
}
