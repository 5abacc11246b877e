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
import { functionName, textOrParts, variantsBy, withFields } from '../../../http/schema/variants.js';
import { MAX_STOP_STRINGS, model, stopString, stream, temperature, topP } from '../../shared/chat/chat-schema.js';
import { chatExtras } from '../../shared/chat/extras-schema.js';

const notEmpty = limited(string, { minLength: 1 });

const text = objectOf({ type: exactly('text'), text: string });

const image = objectOf({
  type: exactly('image'),
  source: variantsBy('type', [
    objectOf({ type: exactly('base64'), media_type: string, data: notEmpty }),
    objectOf({ type: exactly('url'), url: notEmpty }),
  ]),
});

const document = objectOf(
  {
    type: exactly('document'),
    source: variantsBy('type', [
      objectOf({ type: exactly('text'), data: string }),
      objectOf({ type: exactly('content'), content: textOrParts([text, image]) }),
      objectOf({ type: exactly('base64'), media_type: string, data: string }),
      objectOf({ type: exactly('url'), url: string }),
      objectOf({ type: exactly('file'), file_id: string }),
    ]),
  },
  {
    title: orNull(string),
    /** Further information about the document. */
    context: orNull(string),
  },
);

const searchResult = objectOf({
  type: exactly('search_result'),
  source: string,
  title: string,
  content: arrayOf(text),
});

/** A tool that a search among the tools has found. */
const toolReference = objectOf({ type: exactly('tool_reference'), tool_name: string });

const toolUse = objectOf({ type: exactly('tool_use'), id: string, name: string, input: anyObject });

const toolResult = objectOf(
  { type: exactly('tool_result'), tool_use_id: string },
  {
    content: orNull(textOrParts([text, image, document, searchResult, toolReference])),
    is_error: orNull(boolean),
  },
);

const thinking = objectOf({ type: exactly('thinking'), thinking: string }, { signature: orNull(string) });

/** Reasoning that only Anthropic's own servers can read. */
const redactedThinking = objectOf({ type: exactly('redacted_thinking') });

/** A summary of what was said before, which a client had Anthropic's servers make. */
const compaction = objectOf({ type: exactly('compaction'), content: orNull(string) });

/** What Anthropic's own servers have run or keep; what came of it follows as text. */
const HOSTED_TYPES = [
  'server_tool_use',
  'web_search_tool_result',
  'web_fetch_tool_result',
  'code_execution_tool_result',
  'bash_code_execution_tool_result',
  'text_editor_code_execution_tool_result',
  'tool_search_tool_result',
  'advisor_tool_result',
  'mcp_tool_use',
  'mcp_tool_result',
  'container_upload',
] as const;
const hosted = objectOf({ type: oneOf(...HOSTED_TYPES) });

export const systemContent = textOrParts([text]);

export const anthropicMessage = variantsBy('role', [
  objectOf({
    role: exactly('user'),
    content: textOrParts([text, image, document, searchResult, toolReference, toolResult, hosted]),
  }),
  objectOf({
    role: exactly('assistant'),
    content: textOrParts([text, thinking, redactedThinking, toolUse, compaction, hosted]),
  }),
  objectOf({ role: exactly('system'), content: systemContent }),
]);

export type TextBlock = Static<typeof text>;
export type ImageBlock = Static<typeof image>;
export type DocumentBlock = Static<typeof document>;
export type SearchResultBlock = Static<typeof searchResult>;
export type HostedBlock = Static<typeof hosted>;
/** Content of a user message or of a tool result. */
export type ShownBlock = TextBlock | ImageBlock | DocumentBlock | SearchResultBlock | Static<typeof toolReference>;
export type ToolResultBlock = Static<typeof toolResult>;
export type UserBlock = ShownBlock | ToolResultBlock | HostedBlock;
export type AssistantBlock =
  | TextBlock
  | Static<typeof thinking>
  | Static<typeof redactedThinking>
  | Static<typeof toolUse>
  | Static<typeof compaction>
  | HostedBlock;
export type AnthropicMessage = Static<typeof anthropicMessage>;

export function isHosted(block: UserBlock | AssistantBlock): block is HostedBlock {
  return (HOSTED_TYPES as readonly string[]).includes(block.type);
}

const tool = objectOf(
  {},
  {
    /** Present in every function tool. */
    name: functionName,
    /** Absent or `custom`, or a tool of Anthropic's own. Only those that the client runs are supported. */
    type: orNull(string),
    description: orNull(string),
    /** A JSON Schema. */
    input_schema: anyObject,
    strict: orNull(boolean),
    /** Of `computer_*`. */
    display_width_px: orNull(integer),
    display_height_px: orNull(integer),
    /** Of `text_editor_*`. */
    max_characters: orNull(integer),
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

const thread = variantsBy('type', [
  objectOf({ type: exactly('create') }),
  objectOf({ type: exactly('continue'), previous_message_id: notEmpty }),
]);

const required = {
  model,
  messages: field(
    'The conversation so far, the oldest message first.',
    limited(arrayOf(anthropicMessage), { minItems: 1 }),
  ),
};

/** Not in a request to count tokens. */
const maxTokens = field('The most tokens of a completion.', integer, { minimum: 1 });

/** Not in a request to count tokens. */
const threadField = field(
  'Stores the conversation under the id of the reply (`create`), or continues the one of `previous_message_id`.',
  thread,
);

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
  typeof optional & { thread: typeof threadField } & ReturnType<typeof extrasOf>
>;

/** Returns the schema for a mode that supports these chat `parameters`. */
export function messagesSchema(parameters: readonly string[]) {
  return objectOf(
    { ...required, max_tokens: maxTokens },
    { ...optional, thread: threadField, ...extrasOf(parameters) },
  );
}

export function countTokensSchema(parameters: readonly string[]) {
  return objectOf(required, { max_tokens: maxTokens, ...optional, ...extrasOf(parameters) });
}
