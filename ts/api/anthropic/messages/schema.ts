/**
 * The bodies of `POST /v1/messages` and `POST /v1/messages/count_tokens`. Only impossible values are refused here.
 * Every field may also be `null`, which means absent: nulls are removed before the schema is applied.
 */

import * as s from '../../../http/schema/json-schema.js';
import { functionName, textOrParts, variantsBy, withFields } from '../../../http/schema/variants.js';
import { MAX_STOP_STRINGS, model, stopString, stream, temperature, topP } from '../../shared/chat/chat-schema.js';
import { chatExtras } from '../../shared/chat/extras-schema.js';

const notEmpty = s.limited(s.string, { minLength: 1 });

/** A hint that the prefix cache does not need. */
const hint = { cache_control: s.anything };

/** The sources of a past reply are not shown again. */
const text = s.objectOf({ type: s.exactly('text'), text: s.string }, { ...hint, citations: s.anything });

const image = s.objectOf(
  {
    type: s.exactly('image'),
    source: variantsBy('type', [
      s.objectOf({ type: s.exactly('base64'), media_type: s.string, data: notEmpty }),
      s.objectOf({ type: s.exactly('url'), url: notEmpty }),
      s.objectOf({ type: s.exactly('file'), file_id: s.string }),
    ]),
  },
  hint,
);

const document = s.objectOf(
  {
    type: s.exactly('document'),
    source: variantsBy('type', [
      s.objectOf({ type: s.exactly('text'), data: s.string }, { media_type: s.anything }),
      s.objectOf({ type: s.exactly('content'), content: textOrParts([text, image]) }),
      s.objectOf({ type: s.exactly('base64'), media_type: s.string, data: s.string }),
      s.objectOf({ type: s.exactly('url'), url: s.string }),
      s.objectOf({ type: s.exactly('file'), file_id: s.string }),
    ]),
  },
  {
    ...hint,
    title: s.orNull(s.string),
    /** Further information about the document. */
    context: s.orNull(s.string),
  },
);

const searchResult = s.objectOf(
  { type: s.exactly('search_result'), source: s.string, title: s.string, content: s.arrayOf(text) },
  hint,
);

/** A tool that a search among the tools has found. */
const toolReference = s.objectOf({ type: s.exactly('tool_reference'), tool_name: s.string }, hint);

const toolUse = s.objectOf(
  { type: s.exactly('tool_use'), id: s.string, name: s.string, input: s.anyObject },
  { ...hint, caller: s.anything },
);

const toolResult = s.objectOf(
  { type: s.exactly('tool_result'), tool_use_id: s.string },
  {
    ...hint,
    content: s.orNull(textOrParts([text, image, document, searchResult, toolReference])),
    is_error: s.orNull(s.boolean),
  },
);

const thinking = s.objectOf({ type: s.exactly('thinking'), thinking: s.string }, { signature: s.orNull(s.string) });

/** Reasoning that only Anthropic's own servers can read. */
const redactedThinking = s.openObjectOf({ type: s.exactly('redacted_thinking') });

/** A summary of what was said before, which a client had Anthropic's servers make. */
const compaction = s.objectOf(
  { type: s.exactly('compaction'), content: s.orNull(s.string) },
  { ...hint, encrypted_content: s.anything },
);

/** Calls that Anthropic's servers ran, and content that they store. The results follow as text. */
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
  'mcp_tool_listing',
  'container_upload',
  'fallback',
] as const;
const hosted = s.openObjectOf({ type: s.oneOf(...HOSTED_TYPES) });

export const systemContent = textOrParts([text]);

export const anthropicMessage = variantsBy('role', [
  s.objectOf({
    role: s.exactly('user'),
    content: textOrParts([text, image, document, searchResult, toolReference, toolResult, hosted]),
  }),
  s.objectOf({
    role: s.exactly('assistant'),
    content: textOrParts([text, thinking, redactedThinking, toolUse, compaction, hosted]),
  }),
  s.objectOf({ role: s.exactly('system'), content: systemContent }),
]);

export type TextBlock = s.Static<typeof text>;
export type ImageBlock = s.Static<typeof image>;
export type DocumentBlock = s.Static<typeof document>;
export type SearchResultBlock = s.Static<typeof searchResult>;
export type HostedBlock = s.Static<typeof hosted>;
/** Content of a user message or of a tool result. */
export type ShownBlock = TextBlock | ImageBlock | DocumentBlock | SearchResultBlock | s.Static<typeof toolReference>;
export type ToolResultBlock = s.Static<typeof toolResult>;
export type UserBlock = ShownBlock | ToolResultBlock | HostedBlock;
export type AssistantBlock =
  | TextBlock
  | s.Static<typeof thinking>
  | s.Static<typeof redactedThinking>
  | s.Static<typeof toolUse>
  | s.Static<typeof compaction>
  | HostedBlock;
export type AnthropicMessage = s.Static<typeof anthropicMessage>;

export function isHosted(block: UserBlock | AssistantBlock): block is HostedBlock {
  return (HOSTED_TYPES as readonly string[]).includes(block.type);
}

const tool = s.openObjectOf(
  {},
  {
    /** Present in every function tool. */
    name: functionName,
    /** Absent or `custom`, or a tool of Anthropic's own. Only those that the client runs are supported. */
    type: s.orNull(s.string),
    description: s.orNull(s.string),
    /** A JSON Schema. */
    input_schema: s.anyObject,
    strict: s.orNull(s.boolean),
    input_examples: s.orNull(s.arrayOf(s.anything)),
    /** Of `computer_*`. */
    display_width_px: s.orNull(s.integer),
    display_height_px: s.orNull(s.integer),
    /** Of `text_editor_*`. */
    max_characters: s.orNull(s.integer),
  },
);

const toolChoice = withFields(
  variantsBy('type', [
    s.objectOf({ type: s.oneOf('auto', 'any', 'none') }),
    s.objectOf({ type: s.exactly('tool'), name: functionName }),
  ]),
  s.objectOf({}, { disable_parallel_tool_use: s.orNull(s.boolean) }),
);

const outputConfig = s.objectOf(
  {},
  {
    effort: s.orNull(s.oneOf('low', 'medium', 'high', 'xhigh', 'max')),
    format: s.orNull(s.objectOf({ type: s.exactly('json_schema'), schema: s.anyObject })),
  },
);

const thread = variantsBy('type', [
  s.objectOf({ type: s.exactly('create') }),
  s.objectOf({ type: s.exactly('continue'), previous_message_id: notEmpty }),
]);

const required = {
  model,
  messages: s.field(
    'The conversation so far, the oldest message first.',
    s.limited(s.arrayOf(anthropicMessage), { minItems: 1 }),
  ),
};

/** Not in a request to count tokens. */
const maxTokens = s.field('Maximum number of tokens of a completion.', s.integer, { minimum: 1 });

/** Not in a request to count tokens. */
const threadField = s.field(
  'Stores the conversation under the id of the reply (`create`), or continues the one of `previous_message_id`.',
  thread,
);

const optional = {
  system: s.field('The system message.', systemContent),
  tools: s.field('The functions that the model may call.', s.arrayOf(tool)),
  tool_choice: s.field('Whether the model must call a function, and which.', toolChoice),
  stop_sequences: s.field(
    'Stop strings: they end the completion and are not part of it.',
    s.limited(s.arrayOf(stopString), { maxItems: MAX_STOP_STRINGS }),
  ),
  temperature,
  top_p: topP,
  stream,
  metadata: s.field('Ignored.', s.anyObject),
  thinking: s.field(
    'Whether the model should reason, and for how many tokens at most, if its template supports it.',
    s.objectOf(
      { type: s.oneOf('enabled', 'disabled', 'adaptive', 'between_tools') },
      { budget_tokens: s.orNull(s.limited(s.integer, { minimum: -1 })), display: s.orNull(s.string) },
    ),
  ),
  cache_control: s.field('Ignored: the prefix cache needs no hints.', s.anyObject),
  context_management: s.field(
    'Ignored and reported: the conversation is used unchanged.',
    s.objectOf({}, { edits: s.orNull(s.arrayOf(s.openObjectOf({ type: s.string }, { keep: s.anything }))) }),
  ),
  output_config: s.field(
    'In `format`: a schema that the completion must match. In `effort`: how long the model should reason.',
    outputConfig,
  ),
};

/** `stop` is `stop_sequences` here. */
function extrasOf(parameters: readonly string[]): Omit<ReturnType<typeof chatExtras>, 'stop'> {
  const { stop: _stop, ...extras } = chatExtras(parameters);
  return extras;
}

export type AnthropicTool = s.Static<typeof tool>;
export type AnthropicToolChoice = s.Static<typeof toolChoice>;
export type MessagesRequest = s.StaticFields<
  typeof required & { max_tokens: typeof maxTokens },
  typeof optional & { thread: typeof threadField } & ReturnType<typeof extrasOf>
>;

/** Returns the schema for a mode that supports these chat `parameters`. */
export function messagesSchema(parameters: readonly string[]) {
  return s.objectOf(
    { ...required, max_tokens: maxTokens },
    { ...optional, thread: threadField, ...extrasOf(parameters) },
  );
}

export function countTokensSchema(parameters: readonly string[]) {
  return s.objectOf(required, { max_tokens: maxTokens, ...optional, ...extrasOf(parameters) });
}
