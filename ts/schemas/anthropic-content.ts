/** Anthropic's content blocks, of which the messages of `POST /v1/messages` consist. */
import { anyObject, exactly, limited, objectOf, orNull, type Static, string } from './json-schema.js';
import { textOrParts, variantsBy } from './variants.js';

const notEmpty = limited(string, { minLength: 1 });

const text = objectOf({ type: exactly('text'), text: string });

const image = objectOf({
  type: exactly('image'),
  source: variantsBy('type', [
    objectOf({ type: exactly('base64'), media_type: string, data: notEmpty }),
    objectOf({ type: exactly('url'), url: notEmpty }),
  ]),
});

const toolUse = objectOf({ type: exactly('tool_use'), id: string, name: string, input: anyObject });

const toolResult = objectOf(
  { type: exactly('tool_result'), tool_use_id: string },
  { content: orNull(textOrParts([text, image])) },
);

const thinking = objectOf({ type: exactly('thinking'), thinking: string });

/** Reasoning that only Anthropic's own servers can read. */
const redactedThinking = objectOf({ type: exactly('redacted_thinking') });

export const systemContent = textOrParts([text]);

export const anthropicMessage = variantsBy('role', [
  objectOf({ role: exactly('user'), content: textOrParts([text, image, toolResult]) }),
  objectOf({ role: exactly('assistant'), content: textOrParts([text, thinking, redactedThinking, toolUse]) }),
  objectOf({ role: exactly('system'), content: systemContent }),
]);

export type TextBlock = Static<typeof text>;
export type ImageBlock = Static<typeof image>;
export type ToolUseBlock = Static<typeof toolUse>;
export type ToolResultBlock = Static<typeof toolResult>;
export type ThinkingBlock = Static<typeof thinking>;
export type UserBlock = TextBlock | ImageBlock | ToolResultBlock;
export type AssistantBlock = TextBlock | ThinkingBlock | Static<typeof redactedThinking> | ToolUseBlock;
export type AnthropicMessage = Static<typeof anthropicMessage>;
