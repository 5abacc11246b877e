/** The reply of `POST /v1/responses`: whole, and inside the events that begin and end a stream. */

import {
  anyOf,
  arrayOf,
  boolean,
  exactly,
  integer,
  nothing,
  number,
  objectOf,
  oneOf,
  orNull,
  recordOf,
  type Static,
  string,
  typed,
} from '../../../http/schema/json-schema.js';
import { logprobEntry } from '../../shared/completion/chat-reply-schema.js';
import type { StoredItem } from './input-schema.js';
import type { ResponseTextFormat } from './schema.js';
import type { ResponseTool, ResponseToolChoice } from './tools-schema.js';

const status = oneOf('in_progress', 'completed', 'incomplete');
const noItems = arrayOf(typed<never>({}));

const outputText = objectOf({
  type: exactly('output_text'),
  text: string,
  annotations: noItems,
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
    /** The reasoning itself is in `content`. */
    summary: noItems,
    content: arrayOf(reasoningText),
  }),
  objectOf(
    {
      type: exactly('function_call'),
      id: string,
      status,
      call_id: string,
      name: string,
      /** JSON text. */
      arguments: string,
    },
    { namespace: string },
  ),
  objectOf(
    { type: exactly('custom_tool_call'), id: string, status, call_id: string, name: string, input: string },
    { namespace: string },
  ),
  objectOf({
    type: exactly('local_shell_call'),
    id: string,
    status,
    call_id: string,
    action: objectOf({
      type: exactly('exec'),
      command: arrayOf(string),
      env: recordOf(string),
      timeout_ms: orNull(number),
      user: orNull(string),
      working_directory: orNull(string),
    }),
  }),
  objectOf({
    type: exactly('shell_call'),
    id: string,
    status,
    call_id: string,
    action: objectOf({
      commands: arrayOf(string),
      timeout_ms: orNull(number),
      max_output_length: orNull(number),
    }),
    environment: objectOf({ type: exactly('local') }),
  }),
  objectOf({
    type: exactly('apply_patch_call'),
    id: string,
    status: oneOf('in_progress', 'completed'),
    call_id: string,
    operation: anyOf(
      objectOf({ type: oneOf('create_file', 'update_file'), path: string, diff: string }),
      objectOf({ type: exactly('delete_file'), path: string }),
    ),
  }),
);

export const usageSchema = objectOf({
  input_tokens: integer,
  input_tokens_details: objectOf({ cached_tokens: integer, cache_write_tokens: integer }),
  output_tokens: integer,
  output_tokens_details: objectOf({ reasoning_tokens: integer }),
  total_tokens: integer,
});

export const responseSchema = objectOf({
  id: string,
  object: exactly('response'),
  /** Unix seconds. */
  created_at: integer,
  completed_at: orNull(integer),
  status: oneOf('queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled'),
  /** The code is `server_error`, or that of an error which the request has caused. */
  error: orNull(objectOf({ code: string, message: string })),
  incomplete_details: orNull(objectOf({ reason: exactly('max_output_tokens') })),
  model: string,
  output: arrayOf(itemSchema),
  usage: orNull(usageSchema),
  instructions: orNull(string),
  max_output_tokens: orNull(integer),
  metadata: recordOf(string),
  parallel_tool_calls: boolean,
  reasoning: objectOf({ effort: orNull(string), summary: nothing }),
  temperature: number,
  top_p: number,
  presence_penalty: number,
  frequency_penalty: number,
  top_logprobs: integer,
  // These three are repeated as the request has them, with the defaults of their fields.
  text: objectOf({ format: typed<ResponseTextFormat>({ type: 'object' }) }),
  tool_choice: typed<ResponseToolChoice>({ type: ['string', 'object'] }),
  tools: arrayOf(typed<ResponseTool>({ type: 'object' })),
  truncation: oneOf('auto', 'disabled'),
  background: boolean,
  /** Whether it can be asked for again. */
  store: boolean,
  service_tier: exactly('default'),
  max_tool_calls: orNull(integer),
  safety_identifier: orNull(string),
  prompt_cache_key: orNull(string),
  previous_response_id: orNull(string),
  conversation: orNull(objectOf({ id: string })),
});

export const deletedResponseSchema = objectOf({ id: string, object: exactly('response'), deleted: exactly(true) });

/** The reply of `GET /v1/responses/{id}/input_items`. */
export const inputItemListSchema = objectOf({
  object: exactly('list'),
  /** As they were sent, each with an id. */
  data: arrayOf(typed<StoredItem | OutputItem>({ type: 'object', required: ['type', 'id'] })),
  first_id: orNull(string),
  last_id: orNull(string),
  has_more: boolean,
});

export type ItemStatus = Static<typeof status>;
export type OutputText = Static<typeof outputText>;
export type OutputItem = Static<typeof itemSchema>;
export type ResponseUsage = Static<typeof usageSchema>;
export type ResponseObject = Static<typeof responseSchema>;
export type DeletedResponse = Static<typeof deletedResponseSchema>;
export type InputItemList = Static<typeof inputItemListSchema>;
