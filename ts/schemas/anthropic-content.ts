/** Anthropic's content blocks, of which the messages of `POST /v1/messages` consist. */
import { variantsBy } from './variants.js';

export interface TextBlock {
  type: 'text';
  text: string;
}

export interface ImageBlock {
  type: 'image';
  source: { type: 'base64'; media_type: string; data: string } | { type: 'url'; url: string };
}

export interface ToolUseBlock {
  type: 'tool_use';
  id: string;
  name: string;
  input: Record<string, unknown>;
}

export interface ToolResultBlock {
  type: 'tool_result';
  tool_use_id: string;
  content?: string | (TextBlock | ImageBlock)[] | null;
}

export interface ThinkingBlock {
  type: 'thinking';
  thinking: string;
}

/** Reasoning that only Anthropic's own servers can read. */
export interface RedactedThinkingBlock {
  type: 'redacted_thinking';
}

export type UserBlock = TextBlock | ImageBlock | ToolResultBlock;
export type AssistantBlock = TextBlock | ThinkingBlock | RedactedThinkingBlock | ToolUseBlock;

export type AnthropicMessage =
  | { role: 'user'; content: string | UserBlock[] }
  | { role: 'assistant'; content: string | AssistantBlock[] }
  | { role: 'system'; content: string | TextBlock[] };

const string = { type: 'string' };

const text = { required: ['text'], properties: { type: { const: 'text' }, text: string } };

const image = {
  required: ['source'],
  properties: {
    type: { const: 'image' },
    source: variantsBy('type', [
      {
        required: ['media_type', 'data'],
        properties: { type: { const: 'base64' }, media_type: string, data: { type: 'string', minLength: 1 } },
      },
      { required: ['url'], properties: { type: { const: 'url' }, url: { type: 'string', minLength: 1 } } },
    ]),
  },
};

const toolUse = {
  required: ['id', 'name', 'input'],
  properties: { type: { const: 'tool_use' }, id: string, name: string, input: { type: 'object' } },
};

const toolResult = {
  required: ['tool_use_id'],
  properties: {
    type: { const: 'tool_result' },
    tool_use_id: string,
    content: { type: ['string', 'array', 'null'], items: variantsBy('type', [text, image]) },
  },
};

const thinking = { required: ['thinking'], properties: { type: { const: 'thinking' }, thinking: string } };
const redactedThinking = { properties: { type: { const: 'redacted_thinking' } } };

/** A string or blocks. */
export function blocksOf(...variants: object[]): object {
  return { type: ['string', 'array'], items: variantsBy('type', variants) };
}

export const systemContentSchema = blocksOf(text);

export const anthropicMessageSchema = variantsBy('role', [
  { required: ['content'], properties: { role: { const: 'user' }, content: blocksOf(text, image, toolResult) } },
  {
    required: ['content'],
    properties: { role: { const: 'assistant' }, content: blocksOf(text, thinking, redactedThinking, toolUse) },
  },
  { required: ['content'], properties: { role: { const: 'system' }, content: systemContentSchema } },
]);
