/** What `input` of `POST /v1/responses` holds: messages, tool calls and their results, reasoning. */
import { variantsBy } from './variants.js';

export interface InputTextPart {
  type: 'input_text' | 'output_text';
  text: string;
}

export interface RefusalPart {
  type: 'refusal';
  refusal: string;
}

export interface InputImagePart {
  type: 'input_image';
  image_url: string;
}

export type InputPart = InputTextPart | RefusalPart | InputImagePart;

export interface InputMessage {
  type: 'message';
  role: 'user' | 'system' | 'developer' | 'assistant';
  content: string | InputPart[];
}

export interface FunctionCallItem {
  type: 'function_call';
  call_id: string;
  name: string;
  /** JSON text. */
  arguments: string;
}

export interface FunctionCallOutputItem {
  type: 'function_call_output';
  call_id: string;
  output: string | InputPart[];
}

export interface ReasoningInputItem {
  type: 'reasoning';
  content?: { type: 'reasoning_text'; text: string }[] | null;
}

export type InputItem = InputMessage | FunctionCallItem | FunctionCallOutputItem | ReasoningInputItem;

const string = { type: 'string' };

const textPart = (type: InputTextPart['type']) => ({
  required: ['text'],
  properties: { type: { const: type }, text: string },
});

const refusalPart = {
  required: ['refusal'],
  properties: { type: { const: 'refusal' }, refusal: string },
};

const imagePart = {
  required: ['image_url'],
  properties: {
    type: { const: 'input_image' },
    image_url: { type: 'string', minLength: 1 },
  },
};

/** A string or parts, told apart by `type`. */
function contentOf(...variants: object[]): object {
  return { type: ['string', 'array'], items: variantsBy('type', variants) };
}

const shownContent = contentOf(textPart('input_text'), imagePart);
const spokenContent = contentOf(textPart('output_text'), textPart('input_text'), refusalPart);

const message = {
  ...variantsBy('role', [
    { required: ['content'], properties: { role: { const: 'user' }, content: shownContent } },
    {
      required: ['content'],
      properties: { role: { enum: ['system', 'developer'] }, content: contentOf(textPart('input_text')) },
    },
    { required: ['content'], properties: { role: { const: 'assistant' }, content: spokenContent } },
  ]),
  properties: { type: { const: 'message' } },
};

const functionCall = {
  required: ['call_id', 'name', 'arguments'],
  properties: { type: { const: 'function_call' }, call_id: string, name: string, arguments: string },
};

const functionCallOutput = {
  required: ['call_id', 'output'],
  properties: { type: { const: 'function_call_output' }, call_id: string, output: shownContent },
};

const reasoning = {
  properties: {
    type: { const: 'reasoning' },
    content: {
      type: ['array', 'null'],
      items: variantsBy('type', [
        { required: ['text'], properties: { type: { const: 'reasoning_text' }, text: string } },
      ]),
    },
  },
};

export const inputItemSchema = variantsBy('type', [message, functionCall, functionCallOutput, reasoning]);
