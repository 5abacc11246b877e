/**
 * The body of `POST /v1/responses`. Only impossible values are refused here; what this server cannot do is refused by
 * ts/responses. Every field may also be `null`, which means absent: nulls are removed before the schema is applied.
 */
import { type ChatCompletionRequest, type ChatParameter, MAX_TOP_LOGPROBS } from './chat-completion.js';
import { type ChatExtra, chatExtraSchemas, chatExtras } from './chat-extras.js';
import { type InputItem, inputItemSchema } from './response-input.js';
import { functionName, variantsBy } from './variants.js';

export interface ResponseTool {
  /** All types but `function` are tools that only OpenAI's own servers run. */
  type: string;
  name?: string;
  description?: string | null;
  /** A JSON Schema. */
  parameters?: Record<string, unknown> | null;
  strict?: boolean | null;
}

export type ResponseToolChoice =
  | 'none'
  | 'auto'
  | 'required'
  | { type: 'function'; name: string }
  | { type: 'allowed_tools'; mode: 'auto' | 'required'; tools: { type: string; name?: string }[] };

export type ResponseTextFormat =
  | { type: 'text' }
  | { type: 'json_object' }
  | {
      type: 'json_schema';
      name: string;
      schema: Record<string, unknown>;
      strict?: boolean | null;
      description?: string | null;
    };

export interface ResponsesRequest extends Pick<ChatCompletionRequest, ChatExtra> {
  model: string;
  input: string | InputItem[];
  instructions?: string;
  tools?: ResponseTool[];
  tool_choice?: ResponseToolChoice;
  parallel_tool_calls?: boolean;
  text?: { format?: ResponseTextFormat | null };
  reasoning?: { effort?: string | null };
  max_output_tokens?: number;
  temperature?: number;
  top_p?: number;
  top_logprobs?: number;
  /** Further parts of the reply that are asked for; this server knows `message.output_text.logprobs` only. */
  include?: string[];
  stream?: boolean;
  stream_options?: Record<string, unknown>;
  metadata?: Record<string, string>;
  store?: boolean;
  truncation?: string;
  background?: boolean;
  previous_response_id?: string;
  conversation?: unknown;
  prompt?: unknown;
}

export type ResponsesParameter = keyof ResponsesRequest;

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'];
const nullableString = { type: ['string', 'null'] };
const nullableBoolean = { type: ['boolean', 'null'] };

const tool = {
  type: 'object',
  required: ['type'],
  properties: {
    type: { type: 'string' },
    name: functionName,
    description: nullableString,
    parameters: { type: ['object', 'null'] },
    strict: nullableBoolean,
  },
  if: { properties: { type: { const: 'function' } } },
  // biome-ignore lint/suspicious/noThenProperty: JSON Schema's word
  then: { required: ['name'] },
};

const toolChoice = {
  type: ['string', 'object'],
  if: { type: 'string' },
  // biome-ignore lint/suspicious/noThenProperty: JSON Schema's word
  then: { enum: ['none', 'auto', 'required'] },
  else: variantsBy('type', [
    { required: ['name'], properties: { type: { const: 'function' }, name: functionName } },
    {
      required: ['mode', 'tools'],
      properties: {
        type: { const: 'allowed_tools' },
        mode: { enum: ['auto', 'required'] },
        tools: {
          type: 'array',
          minItems: 1,
          items: { type: 'object', required: ['type'], properties: { type: { type: 'string' }, name: functionName } },
        },
      },
    },
  ]),
};

const format = {
  ...variantsBy('type', [
    { properties: { type: { const: 'text' } } },
    { properties: { type: { const: 'json_object' } } },
    {
      required: ['name', 'schema'],
      properties: {
        type: { const: 'json_schema' },
        name: functionName,
        schema: { type: 'object' },
        strict: nullableBoolean,
        description: nullableString,
      },
    },
  ]),
  type: ['object', 'null'],
};

const ownSchemas = {
  model: { type: 'string' },
  input: { type: ['string', 'array'], minLength: 1, minItems: 1, items: inputItemSchema },
  instructions: { type: 'string' },
  tools: { type: 'array', items: tool },
  tool_choice: toolChoice,
  parallel_tool_calls: { type: 'boolean' },
  text: { type: 'object', properties: { format } },
  reasoning: { type: 'object', properties: { effort: { enum: [...EFFORTS, null] } } },
  max_output_tokens: { type: 'integer', minimum: 1 },
  temperature: { type: 'number', minimum: 0 },
  top_p: { type: 'number', minimum: 0, maximum: 1 },
  top_logprobs: { type: 'integer', minimum: 0, maximum: MAX_TOP_LOGPROBS },
  include: { type: 'array', items: { type: 'string' } },
  stream: { type: 'boolean' },
  stream_options: { type: 'object' },
  // OpenAI has the same limits; every event of a stream that carries the response repeats these fields.
  metadata: { type: 'object', maxProperties: 16, additionalProperties: { type: 'string', maxLength: 512 } },
  store: { type: 'boolean' },
  truncation: { enum: ['auto', 'disabled'] },
  background: { type: 'boolean' },
  previous_response_id: { type: 'string' },
  conversation: {},
  prompt: {},
} satisfies Record<Exclude<ResponsesParameter, ChatExtra>, object>;

/** The fields that a mode obeys or refuses here, given those that it obeys in chat bodies. */
export function responsesParameters(parameters: readonly ChatParameter[]): ResponsesParameter[] {
  return [...(Object.keys(ownSchemas) as ResponsesParameter[]), ...chatExtras(parameters)];
}

export function responsesSchema(parameters: readonly ChatParameter[]): object {
  const properties = { ...ownSchemas, ...chatExtraSchemas(parameters) };
  return { type: 'object', required: ['model', 'input'], properties };
}
