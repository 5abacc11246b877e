/**
 * The bodies of `POST /v1/messages` and `POST /v1/messages/count_tokens`. Only impossible values are refused here.
 * Every field may also be `null`, which means absent: nulls are removed before the schema is applied.
 */
import {
  type AnthropicMessage,
  anthropicMessageSchema,
  systemContentSchema,
  type TextBlock,
} from './anthropic-content.js';
import { type ChatCompletionRequest, type ChatParameter, MAX_STOP_STRINGS, stopString } from './chat-completion.js';
import { type ChatExtra, chatExtraSchemas, chatExtras } from './chat-extras.js';
import { functionName, variantsBy } from './variants.js';

export interface AnthropicTool {
  /** Absent or `custom`; anything else is a tool of Anthropic's own. */
  type?: string | null;
  name: string;
  description?: string | null;
  /** A JSON Schema. */
  input_schema?: Record<string, unknown>;
  strict?: boolean | null;
}

export type AnthropicToolChoice = { disable_parallel_tool_use?: boolean | null } & (
  | { type: 'auto' }
  | { type: 'any' }
  | { type: 'none' }
  | { type: 'tool'; name: string }
);

export interface MessagesRequest extends Pick<ChatCompletionRequest, ChatExtra> {
  model: string;
  messages: AnthropicMessage[];
  /** Not in a request to count tokens. */
  max_tokens: number;
  system?: string | TextBlock[];
  tools?: AnthropicTool[];
  tool_choice?: AnthropicToolChoice;
  stop_sequences?: string[];
  temperature?: number;
  top_p?: number;
  stream?: boolean;
  metadata?: Record<string, unknown>;
  thinking?: { type: string };
  output_config?: { effort?: string | null; format?: { type: 'json_schema'; schema: Record<string, unknown> } | null };
}

export type MessagesParameter = keyof MessagesRequest;

const THINKING = ['enabled', 'disabled', 'adaptive', 'between_tools'];
const nullableString = { type: ['string', 'null'] };
const nullableBoolean = { type: ['boolean', 'null'] };

const tool = {
  type: 'object',
  required: ['name'],
  properties: {
    type: nullableString,
    name: functionName,
    description: nullableString,
    input_schema: { type: 'object' },
    strict: nullableBoolean,
  },
};

const toolChoice = {
  ...variantsBy('type', [
    { properties: { type: { enum: ['auto', 'any', 'none'] } } },
    { required: ['name'], properties: { type: { const: 'tool' }, name: functionName } },
  ]),
  properties: { disable_parallel_tool_use: nullableBoolean },
};

const outputConfig = {
  type: 'object',
  properties: {
    effort: { enum: ['low', 'medium', 'high', 'xhigh', 'max', null] },
    format: {
      type: ['object', 'null'],
      required: ['type', 'schema'],
      properties: { type: { const: 'json_schema' }, schema: { type: 'object' } },
    },
  },
};

const ownSchemas = {
  model: { type: 'string' },
  messages: { type: 'array', minItems: 1, items: anthropicMessageSchema },
  max_tokens: { type: 'integer', minimum: 1 },
  system: systemContentSchema,
  tools: { type: 'array', items: tool },
  tool_choice: toolChoice,
  stop_sequences: { type: 'array', maxItems: MAX_STOP_STRINGS, items: stopString },
  temperature: { type: 'number', minimum: 0 },
  top_p: { type: 'number', minimum: 0, maximum: 1 },
  stream: { type: 'boolean' },
  metadata: { type: 'object' },
  thinking: { type: 'object', required: ['type'], properties: { type: { enum: THINKING } } },
  output_config: outputConfig,
} satisfies Record<Exclude<MessagesParameter, ChatExtra>, object>;

/** The fields that a mode obeys here, given those that it obeys in chat bodies. */
export function messagesParameters(parameters: readonly ChatParameter[]): MessagesParameter[] {
  const extras = chatExtras(parameters).filter((extra) => extra !== 'stop');
  return [...(Object.keys(ownSchemas) as MessagesParameter[]), ...extras];
}

export function messagesSchema(parameters: readonly ChatParameter[]): object {
  const properties = { ...ownSchemas, ...chatExtraSchemas(parameters) };
  return { type: 'object', required: ['model', 'max_tokens', 'messages'], properties };
}

export function countTokensSchema(parameters: readonly ChatParameter[]): object {
  return { ...messagesSchema(parameters), required: ['model', 'messages'] };
}
