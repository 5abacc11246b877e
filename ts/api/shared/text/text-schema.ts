/** The body of `POST /v1/completions`: continues a text without a chat template. */

import {
  boolean,
  field,
  integer,
  objectOf,
  orString,
  pickFields,
  type StaticFields,
  string,
  typed,
} from '../../../http/schema/json-schema.js';
import { jsonSchema } from '../../../http/schema/variants.js';
import {
  completionFields,
  conversationFields,
  MAX_CHOICES,
  model,
  openAiFields,
  promptLogprobs,
  responseFormatField,
} from '../chat/chat-schema.js';
import { constraintFields } from '../chat/constraint-schema.js';

export type TextInputs = string | number[] | (string | number[])[];
export type TextPart = string | number;
export type MixedInputs = string | TextPart[] | (string | TextPart[])[];

const token = { type: 'integer', minimum: 0, maximum: 2 ** 31 - 1 };

/** `toInputs` refuses single tokens beside lists, because it can name the item. */
export const textInputs = typed<MixedInputs>({
  type: ['string', 'array'],
  minItems: 1,
  items: {
    ...token,
    type: ['string', 'integer', 'array'],
    minItems: 1,
    items: { ...token, type: ['string', 'integer'] },
  },
});

export const MAX_COMPLETION_LOGPROBS = 20;

const required = {
  model,
  prompt: field(
    'One text or several, as characters, as tokens or as a list of both; each gets `n` choices.',
    textInputs,
  ),
};

/** Fields with the same meaning as in chats. */
const shared = {
  ...openAiFields,
  ...completionFields,
  grammar: conversationFields.grammar,
  ...constraintFields,
  json_schema: field('A JSON schema that the completion must match, also as text.', orString(jsonSchema)),
  response_format: responseFormatField,
};

const own = {
  suffix: field('The text after the gap, for models that support infill.', string),
  echo: field('Whether each choice begins with its prompt. With `logprobs`, its tokens are reported, too.', boolean),
  max_tokens: field('Maximum number of tokens of a completion; 0: only reads the prompt; -1: no limit.', integer, {
    minimum: -1,
  }),
  best_of: field(
    'Refused above `n`, because the server does not compute choices that it would then discard.',
    integer,
    { minimum: 1, maximum: MAX_CHOICES },
  ),
  logprobs: field('Number of alternatives to report with each token.', integer, {
    minimum: 0,
    maximum: MAX_COMPLETION_LOGPROBS,
  }),
  prompt_logprobs: promptLogprobs,
};

export type SentCompletion = StaticFields<typeof required, typeof shared & typeof own>;
/** A body after `readConstraints`. */
export type CompletionRequest = Omit<SentCompletion, 'json_schema' | 'response_format'> & { json_schema?: object };

/** Returns the schema for a mode that supports these chat `parameters`. */
export function completionSchema(parameters: readonly string[]) {
  return objectOf(required, { ...pickFields(shared, parameters), ...own });
}
