/**
 * The body of `POST /v1/responses`. It accepts all possible values; the handler refuses those that this server does not
 * support. Every field may also be `null`, which means absent: nulls are removed before the schema is applied.
 */

import * as s from '../../../http/schema/json-schema.js';
import { functionName, variantsBy } from '../../../http/schema/variants.js';
import {
  MAX_TOP_LOGPROBS,
  model,
  returnProgress,
  stream,
  temperature,
  timingsPerToken,
  topP,
} from '../../shared/chat/chat-schema.js';
import { chatExtras } from '../../shared/chat/extras-schema.js';
import { metadata } from '../../shared/metadata-schema.js';
import { inputItem } from './input-schema.js';
import { responseTool, responseToolChoice } from './tools-schema.js';

const format = variantsBy('type', [
  s.objectOf({ type: s.exactly('text') }),
  s.objectOf({ type: s.exactly('json_object') }),
  s.objectOf(
    { type: s.exactly('json_schema'), name: functionName, schema: s.anyObject },
    { strict: s.orNull(s.boolean), description: s.orNull(s.string) },
  ),
]);

/** Limit, because every event that contains the response repeats the field. */
const clientKey = s.limited(s.string, { maxLength: 512 });

/** Replies have log-probabilities if `include` names them or `top_logprobs` is set. */
export const INCLUDES_LOGPROBS = 'message.output_text.logprobs';

/** The values of `include` that this server supports. */
export const INCLUDED = [INCLUDES_LOGPROBS, 'message.input_image.image_url'] as const;

/** The values of `include` that OpenAI defines. */
const INCLUDABLE = [
  ...INCLUDED,
  'computer_call_output.output.image_url',
  'reasoning.encrypted_content',
  'file_search_call.results',
  'web_search_call.results',
  'web_search_call.action.sources',
  'code_interpreter_call.outputs',
] as const;

const required = {
  model,
  input: s.field(
    'The input: a text, or the items of a conversation.',
    s.orString(s.limited(s.arrayOf(inputItem), { minItems: 1 })),
  ),
};

const optional = {
  instructions: s.field('The system message.', s.string),
  tools: s.field(
    'The functions and custom tools that the model may call, and MCP servers of this server (`mcp` with a `server_label`). ' +
      'Tools that only OpenAI runs are ignored.',
    s.arrayOf(responseTool),
  ),
  tool_choice: s.field('Whether the model must call a tool, and which.', responseToolChoice),
  parallel_tool_calls: s.field('Whether a completion may have several calls.', s.boolean),
  text: s.field(
    'In `format`: the form of the completion: text, any JSON object, or a JSON schema.',
    s.objectOf({}, { format: s.orNull(format) }),
  ),
  reasoning: s.field(
    'In `effort`: how long the model should reason, if its template supports it.',
    s.objectOf({}, { effort: s.orNull(s.oneOf('none', 'minimal', 'low', 'medium', 'high', 'xhigh')) }),
  ),
  max_output_tokens: s.field('Maximum number of tokens of the completion.', s.integer, { minimum: 1 }),
  temperature,
  top_p: topP,
  top_logprobs: s.field('Number of alternatives to report with each token.', s.integer, {
    minimum: 0,
    maximum: MAX_TOP_LOGPROBS,
  }),
  include: s.field(
    'With `message.output_text.logprobs`, the reply has log-probabilities. Items always contain the images of messages. ' +
      'Other values are ignored.',
    s.arrayOf(s.oneOf(...INCLUDABLE)),
  ),
  stream,
  stream_options: s.field('Nothing to choose here.', s.anyObject),
  timings_per_token: timingsPerToken,
  return_progress: returnProgress,
  metadata,
  store: s.field('Whether to store the response. If false, no later request can read or continue it.', s.boolean, {
    default: true,
  }),
  service_tier: s.field(
    'Has no effect. The reply has `default`.',
    s.oneOf('auto', 'default', 'flex', 'scale', 'priority'),
  ),
  max_tool_calls: s.field('Limit of calls of tools of MCP servers.', s.integer, {
    minimum: 1,
  }),
  safety_identifier: s.field('Repeated in the reply; has no other effect.', clientKey),
  prompt_cache_key: s.field(
    'Repeated in the reply; has no other effect, because all prompts share one cache.',
    clientKey,
  ),
  truncation: s.field(
    'With `auto`, the oldest items are omitted if the prompt does not fit. Otherwise it is refused.',
    s.oneOf('auto', 'disabled'),
    { default: 'disabled' },
  ),
  background: s.field(
    'Replies immediately and computes the response in the background. Read it by its id. With `stream`, its events are sent and stored for some minutes.',
    s.boolean,
    { default: false },
  ),
  previous_response_id: s.field('The stored response to continue. Its items precede `input`.', s.string),
  conversation: s.field(
    'The conversation to continue, or its id. Its items precede `input`. The response is added to it.',
    s.orString(s.objectOf({ id: s.string })),
  ),
  prompt: s.field('Refused: the server stores no prompts. Send `instructions` and `input`.', s.anything),
};

export type ResponseTextFormat = s.Static<typeof format>;
export type ResponsesRequest = s.StaticFields<typeof required, typeof optional & ReturnType<typeof chatExtras>>;

export const responseFields = { ...required, ...optional };

/** Returns the schema for a mode that supports these chat `parameters`. */
export function responsesSchema(parameters: readonly string[]) {
  return s.objectOf(required, { ...optional, ...chatExtras(parameters) });
}
