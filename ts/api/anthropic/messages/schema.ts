/**
 * The bodies of `POST /v1/messages` and `POST /v1/messages/count_tokens`. Only impossible values are refused here.
 * Every field may also be `null`, which means absent: nulls are removed before the schema is applied.
 */

import {
  anyObject,
  anything,
  arrayOf,
  boolean,
  exactly,
  field,
  integer,
  limited,
  objectOf,
  oneOf,
  orNull,
  type Static,
  type StaticFields,
  string,
} from '../../../http/schema/json-schema.js';
import { functionName, variantsBy, withFields } from '../../../http/schema/variants.js';
import { MAX_STOP_STRINGS, model, stopString, stream, temperature, topP } from '../../shared/chat/chat-schema.js';
import { chatExtras } from '../../shared/chat/extras-schema.js';
import { anthropicMessage, systemContent } from './content-schema.js';

const tool = objectOf(
  {},
  {
    /** Of every tool that is described here. */
    name: functionName,
    /** Absent or `custom`; anything else is a tool of Anthropic's own, which is passed over. */
    type: orNull(string),
    description: orNull(string),
    /** A JSON Schema. */
    input_schema: anyObject,
    strict: orNull(boolean),
  },
);

const toolChoice = withFields(
  variantsBy('type', [
    objectOf({ type: oneOf('auto', 'any', 'none') }),
    objectOf({ type: exactly('tool'), name: functionName }),
  ]),
  objectOf({}, { disable_parallel_tool_use: orNull(boolean) }),
);

const outputConfig = objectOf(
  {},
  {
    effort: orNull(oneOf('low', 'medium', 'high', 'xhigh', 'max')),
    format: orNull(objectOf({ type: exactly('json_schema'), schema: anyObject })),
  },
);

const required = {
  model,
  messages: field(
    'The conversation so far, the oldest message first.',
    limited(arrayOf(anthropicMessage), { minItems: 1 }),
  ),
};

/** Not in a request to count tokens. */
const maxTokens = field('The most tokens of a completion.', integer, { minimum: 1 });

const optional = {
  system: field('The system message.', systemContent),
  tools: field('The functions that the model may call.', arrayOf(tool)),
  tool_choice: field('Whether the model must call a function, and which.', toolChoice),
  stop_sequences: field(
    'Texts that end the completion and are not part of it.',
    limited(arrayOf(stopString), { maxItems: MAX_STOP_STRINGS }),
  ),
  temperature,
  top_p: topP,
  stream,
  metadata: field('Ignored.', anyObject),
  thinking: field(
    'Whether the model should reason, where its template knows that, and for how many tokens at most.',
    objectOf(
      { type: oneOf('enabled', 'disabled', 'adaptive', 'between_tools') },
      { budget_tokens: orNull(limited(integer, { minimum: -1 })), display: orNull(string) },
    ),
  ),
  cache_control: field('Ignored: what has been computed is kept for later requests by itself.', anyObject),
  context_management: field(
    'Ignored, and named so: the conversation is read as it is.',
    objectOf({}, { edits: orNull(arrayOf(objectOf({ type: string }, { keep: anything }))) }),
  ),
  output_config: field(
    'In `format`: a schema that the completion must match. In `effort`: how long the model should reason.',
    outputConfig,
  ),
};

/** `stop` is `stop_sequences` here. */
function extrasOf(parameters: readonly string[]): Omit<ReturnType<typeof chatExtras>, 'stop'> {
  const { stop: _stop, ...extras } = chatExtras(parameters);
  return extras;
}

export type AnthropicTool = Static<typeof tool>;
export type AnthropicToolChoice = Static<typeof toolChoice>;
export type MessagesRequest = StaticFields<
  typeof required & { max_tokens: typeof maxTokens },
  typeof optional & ReturnType<typeof extrasOf>
>;

/** The schema for a mode whose chats support `parameters`. */
export function messagesSchema(parameters: readonly string[]) {
  return objectOf({ ...required, max_tokens: maxTokens }, { ...optional, ...extrasOf(parameters) });
}

export function countTokensSchema(parameters: readonly string[]) {
  return objectOf(required, { max_tokens: maxTokens, ...optional, ...extrasOf(parameters) });
}
