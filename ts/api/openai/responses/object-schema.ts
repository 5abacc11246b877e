/** The reply of `POST /v1/responses`, also part of the events that begin and end a stream. */

import * as s from '../../../http/schema/json-schema.js';
import { logprobEntry } from '../../shared/completion/chat-reply-schema.js';
import type { StoredItem } from './input-schema.js';
import { mcpOutputItems } from './mcp/mcp-schema.js';
import type { ResponseTextFormat } from './schema.js';
import type { ResponseTool, ResponseToolChoice } from './tools-schema.js';

const status = s.oneOf('in_progress', 'completed', 'incomplete');
const noItems = s.arrayOf(s.typed<never>({}));

const outputText = s.objectOf({
  type: s.exactly('output_text'),
  text: s.string,
  annotations: noItems,
  logprobs: s.arrayOf(logprobEntry),
});

const reasoningText = s.objectOf({ type: s.exactly('reasoning_text'), text: s.string });

export const contentSchema = s.anyOf(outputText, reasoningText);

export const itemSchema = s.anyOf(
  s.objectOf({
    type: s.exactly('message'),
    id: s.string,
    status,
    role: s.exactly('assistant'),
    content: s.arrayOf(outputText),
  }),
  s.objectOf({
    type: s.exactly('reasoning'),
    id: s.string,
    status,
    /** The reasoning itself is in `content`. */
    summary: noItems,
    content: s.arrayOf(reasoningText),
  }),
  s.objectOf(
    {
      type: s.exactly('function_call'),
      id: s.string,
      status,
      call_id: s.string,
      name: s.string,
      /** JSON text. */
      arguments: s.string,
    },
    { namespace: s.string },
  ),
  s.objectOf(
    { type: s.exactly('custom_tool_call'), id: s.string, status, call_id: s.string, name: s.string, input: s.string },
    { namespace: s.string },
  ),
  s.objectOf(
    {
      type: s.exactly('computer_call'),
      id: s.string,
      status,
      call_id: s.string,
      pending_safety_checks: noItems,
    },
    {
      /** Of `computer_use_preview`. */
      action: s.anyObject,
      /** Of `computer`. */
      actions: s.arrayOf(s.anyObject),
    },
  ),
  s.objectOf({
    type: s.exactly('local_shell_call'),
    id: s.string,
    status,
    call_id: s.string,
    action: s.objectOf({
      type: s.exactly('exec'),
      command: s.arrayOf(s.string),
      env: s.recordOf(s.string),
      timeout_ms: s.orNull(s.number),
      user: s.orNull(s.string),
      working_directory: s.orNull(s.string),
    }),
  }),
  s.objectOf({
    type: s.exactly('shell_call'),
    id: s.string,
    status,
    call_id: s.string,
    action: s.objectOf({
      commands: s.arrayOf(s.string),
      timeout_ms: s.orNull(s.number),
      max_output_length: s.orNull(s.number),
    }),
    environment: s.objectOf({ type: s.exactly('local') }),
  }),
  s.objectOf({
    type: s.exactly('apply_patch_call'),
    id: s.string,
    status: s.oneOf('in_progress', 'completed'),
    call_id: s.string,
    operation: s.anyOf(
      s.objectOf({ type: s.oneOf('create_file', 'update_file'), path: s.string, diff: s.string }),
      s.objectOf({ type: s.exactly('delete_file'), path: s.string }),
    ),
  }),
  ...mcpOutputItems,
);

export const usageSchema = s.objectOf({
  input_tokens: s.integer,
  input_tokens_details: s.objectOf({ cached_tokens: s.integer, cache_write_tokens: s.integer }),
  output_tokens: s.integer,
  output_tokens_details: s.objectOf({ reasoning_tokens: s.integer }),
  total_tokens: s.integer,
});

export const responseSchema = s.objectOf({
  id: s.string,
  object: s.exactly('response'),
  /** Unix seconds. */
  created_at: s.integer,
  completed_at: s.orNull(s.integer),
  status: s.oneOf('queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled'),
  /** `server_error`, or the code of an error that the request caused. */
  error: s.orNull(s.objectOf({ code: s.string, message: s.string })),
  incomplete_details: s.orNull(s.objectOf({ reason: s.exactly('max_output_tokens') })),
  model: s.string,
  output: s.arrayOf(itemSchema),
  usage: s.orNull(usageSchema),
  instructions: s.orNull(s.string),
  max_output_tokens: s.orNull(s.integer),
  metadata: s.recordOf(s.string),
  parallel_tool_calls: s.boolean,
  reasoning: s.objectOf({ effort: s.orNull(s.string), summary: s.nothing }),
  temperature: s.number,
  top_p: s.number,
  presence_penalty: s.number,
  frequency_penalty: s.number,
  top_logprobs: s.integer,
  // These three repeat the request, with the defaults of their fields.
  text: s.objectOf({ format: s.typed<ResponseTextFormat>({ type: 'object' }) }),
  tool_choice: s.typed<ResponseToolChoice>({ type: ['string', 'object'] }),
  tools: s.arrayOf(s.typed<ResponseTool>({ type: 'object' })),
  truncation: s.oneOf('auto', 'disabled'),
  background: s.boolean,
  /** Whether the response is stored. */
  store: s.boolean,
  service_tier: s.exactly('default'),
  max_tool_calls: s.orNull(s.integer),
  safety_identifier: s.orNull(s.string),
  prompt_cache_key: s.orNull(s.string),
  previous_response_id: s.orNull(s.string),
  conversation: s.orNull(s.objectOf({ id: s.string })),
});

export const deletedResponseSchema = s.objectOf({
  id: s.string,
  object: s.exactly('response'),
  deleted: s.exactly(true),
});

/** The reply of `GET /v1/responses/{id}/input_items`. */
export const inputItemListSchema = s.objectOf({
  object: s.exactly('list'),
  /** The items of the request, each with an id. */
  data: s.arrayOf(s.typed<StoredItem | OutputItem>({ type: 'object', required: ['type', 'id'] })),
  first_id: s.orNull(s.string),
  last_id: s.orNull(s.string),
  has_more: s.boolean,
});

export type ItemStatus = s.Static<typeof status>;
export type OutputText = s.Static<typeof outputText>;
export type OutputItem = s.Static<typeof itemSchema>;
export type ResponseUsage = s.Static<typeof usageSchema>;
export type ResponseObject = s.Static<typeof responseSchema>;
export type DeletedResponse = s.Static<typeof deletedResponseSchema>;
export type InputItemList = s.Static<typeof inputItemListSchema>;
