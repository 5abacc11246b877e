/** The reply of `POST /v1/responses`: whole, and inside the events that begin and end a stream. */
import type { LogprobEntry } from './chat-response.js';
import { logprobEntry } from './chat-response.js';
import {
  anyOf,
  anything,
  arrayOf,
  boolean,
  exactly,
  integer,
  nothing,
  number,
  objectOf,
  oneOf,
  orNull,
  string,
} from './json-schema.js';
import type { ResponseTextFormat, ResponseTool, ResponseToolChoice } from './responses.js';

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

export interface OutputText {
  type: 'output_text';
  text: string;
  annotations: never[];
  logprobs: LogprobEntry[];
}

export interface MessageItem {
  type: 'message';
  id: string;
  status: ItemStatus;
  role: 'assistant';
  content: OutputText[];
}

export interface ReasoningItem {
  type: 'reasoning';
  id: string;
  status: ItemStatus;
  /** Always empty: the reasoning itself is in `content`. */
  summary: never[];
  content: { type: 'reasoning_text'; text: string }[];
}

export interface FunctionCall {
  type: 'function_call';
  id: string;
  status: ItemStatus;
  call_id: string;
  name: string;
  /** JSON text. */
  arguments: string;
}

export type OutputItem = MessageItem | ReasoningItem | FunctionCall;

export interface ResponseUsage {
  input_tokens: number;
  input_tokens_details: { cached_tokens: number };
  output_tokens: number;
  output_tokens_details: { reasoning_tokens: number };
  total_tokens: number;
}

export interface ResponseObject {
  id: string;
  object: 'response';
  /** Unix seconds. */
  created_at: number;
  completed_at: number | null;
  status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  error: { code: 'server_error'; message: string } | null;
  incomplete_details: { reason: 'max_output_tokens' } | null;
  model: string;
  output: OutputItem[];
  usage: ResponseUsage | null;
  instructions: string | null;
  max_output_tokens: number | null;
  metadata: Record<string, string>;
  parallel_tool_calls: boolean;
  reasoning: { effort: string | null; summary: null };
  temperature: number;
  top_p: number;
  top_logprobs: number;
  text: { format: ResponseTextFormat };
  tool_choice: ResponseToolChoice;
  tools: ResponseTool[];
  truncation: 'disabled';
  background: false;
  store: false;
  previous_response_id: null;
}

/** The reply of `POST /v1/responses/input_tokens`. */
export interface InputTokens {
  object: 'response.input_tokens';
  input_tokens: number;
}

export const inputTokensSchema = objectOf({ object: exactly('response.input_tokens'), input_tokens: integer });

const status = oneOf('in_progress', 'completed', 'incomplete');

const outputText = objectOf({
  type: exactly('output_text'),
  text: string,
  annotations: arrayOf(anything),
  logprobs: arrayOf(logprobEntry),
});

const reasoningText = objectOf({ type: exactly('reasoning_text'), text: string });

export const contentSchema = anyOf(outputText, reasoningText);

export const itemSchema = anyOf(
  objectOf({
    type: exactly('message'),
    id: string,
    status,
    role: exactly('assistant'),
    content: arrayOf(outputText),
  }),
  objectOf({
    type: exactly('reasoning'),
    id: string,
    status,
    summary: arrayOf(anything),
    content: arrayOf(reasoningText),
  }),
  objectOf({ type: exactly('function_call'), id: string, status, call_id: string, name: string, arguments: string }),
);

const usage = objectOf({
  input_tokens: integer,
  input_tokens_details: objectOf({ cached_tokens: integer }),
  output_tokens: integer,
  output_tokens_details: objectOf({ reasoning_tokens: integer }),
  total_tokens: integer,
});

/** Fields that only repeat the request have no schema of their own. */
export const responseSchema = objectOf({
  id: string,
  object: exactly('response'),
  created_at: integer,
  completed_at: orNull(integer),
  status: oneOf('in_progress', 'completed', 'incomplete', 'failed'),
  error: orNull(objectOf({ code: exactly('server_error'), message: string })),
  incomplete_details: orNull(objectOf({ reason: exactly('max_output_tokens') })),
  model: string,
  output: arrayOf(itemSchema),
  usage: orNull(usage),
  instructions: orNull(string),
  max_output_tokens: orNull(integer),
  metadata: { type: 'object', additionalProperties: string },
  parallel_tool_calls: boolean,
  reasoning: objectOf({ effort: orNull(string), summary: nothing }),
  temperature: number,
  top_p: number,
  top_logprobs: integer,
  text: objectOf({ format: { type: 'object' } }),
  tool_choice: { type: ['string', 'object'] },
  tools: arrayOf({ type: 'object' }),
  truncation: exactly('disabled'),
  background: exactly(false),
  store: exactly(false),
  previous_response_id: nothing,
});
