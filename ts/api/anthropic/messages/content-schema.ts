/** Anthropic's content blocks, of which the messages of `POST /v1/messages` consist. */
import {
  anyObject,
  arrayOf,
  boolean,
  exactly,
  limited,
  objectOf,
  oneOf,
  orNull,
  type Static,
  string,
} from '../../../http/schema/json-schema.js';
import { textOrParts, variantsBy } from '../../../http/schema/variants.js';

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
    /** What there is to know about the document beside its text. */
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
/** What a user or a tool shows to the model. */
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
