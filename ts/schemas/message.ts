/** One message of a conversation, as it comes in a request. */

export interface TextPart {
  type: 'text';
  text: string;
}

export interface ImagePart {
  type: 'image_url';
  /** `detail` is OpenAI's; whatever it says, the model sees the image as its encoder takes it. */
  image_url: { url: string; detail?: 'auto' | 'low' | 'high' | null };
}

export type ContentPart = TextPart | ImagePart;

export interface InstructionMessage {
  role: 'system' | 'developer';
  content: string | TextPart[];
  name?: string | null;
}

export interface UserMessage {
  role: 'user';
  content: string | ContentPart[];
  name?: string | null;
}

export interface AssistantMessage {
  role: 'assistant';
  content?: string | TextPart[] | null;
  name?: string | null;
  /** The model's reasoning before this message, as an earlier completion reported it. */
  reasoning_content?: string | null;
  tool_calls?: ToolCall[] | null;
}

export interface ToolCall {
  id?: string | null;
  type: 'function';
  /** `arguments` is a JSON object, as text. */
  function: { name: string; arguments: string };
}

export interface ToolMessage {
  role: 'tool';
  content: string | TextPart[];
  tool_call_id?: string | null;
}

export type Message = InstructionMessage | UserMessage | AssistantMessage | ToolMessage;

const nullableString = { type: ['string', 'null'] };

const textPart = {
  required: ['text'],
  properties: { type: { const: 'text' }, text: { type: 'string' } },
};

const imagePart = {
  required: ['image_url'],
  properties: {
    type: { const: 'image_url' },
    image_url: {
      type: 'object',
      required: ['url'],
      properties: { url: { type: 'string', minLength: 1 }, detail: { enum: ['auto', 'low', 'high', null] } },
    },
  },
};

const toolCall = {
  type: 'object',
  required: ['type', 'function'],
  properties: {
    id: nullableString,
    type: { enum: ['function'] },
    function: {
      type: 'object',
      required: ['name', 'arguments'],
      properties: { name: { type: 'string', minLength: 1 }, arguments: { type: 'string' } },
    },
  },
};

/** Parts are told apart by `type`; with a discriminator AJV reports what is wrong within the part that was meant. */
function partsOf(...variants: object[]): object {
  return {
    minItems: 1,
    items: { type: 'object', required: ['type'], discriminator: { propertyName: 'type' }, oneOf: variants },
  };
}

const textContent = { type: ['string', 'array'], ...partsOf(textPart) };
const userContent = { type: ['string', 'array'], ...partsOf(textPart, imagePart) };
const assistantContent = { type: ['string', 'array', 'null'], ...partsOf(textPart) };

export const messageSchema = {
  type: 'object',
  required: ['role'],
  discriminator: { propertyName: 'role' },
  oneOf: [
    {
      required: ['content'],
      properties: { role: { enum: ['system', 'developer'] }, content: textContent, name: nullableString },
    },
    {
      required: ['content'],
      properties: { role: { const: 'user' }, content: userContent, name: nullableString },
    },
    {
      properties: {
        role: { const: 'assistant' },
        content: assistantContent,
        name: nullableString,
        reasoning_content: nullableString,
        tool_calls: { type: ['array', 'null'], items: toolCall },
      },
    },
    {
      required: ['content'],
      properties: { role: { const: 'tool' }, content: textContent, tool_call_id: nullableString },
    },
  ],
};
