/**
 * The bodies of llama-server's own endpoints. Every field may also be `null`, which means absent: nulls are removed
 * before the schema is applied.
 */

import {
  arrayOf,
  boolean,
  field,
  integer,
  limited,
  objectOf,
  type Static,
  type StaticFields,
  string,
  typed,
} from '../../http/schema/json-schema.js';
import { jsonSchema } from '../../http/schema/variants.js';
import {
  completionFields,
  MAX_CHOICES,
  MAX_LOGIT_BIASES,
  MAX_TOP_LOGPROBS,
  model,
  returnProgress,
  stream,
  temperature,
  timingsPerToken,
  topP,
} from '../shared/chat/chat-schema.js';
import { MAX_DOCUMENTS } from '../shared/text/ranking-schema.js';

export const MAX_RESPONSE_FIELDS = 64;
export const MAX_EXTRA_TEXTS = 256;

const { logit_bias: _objectOnly, ...samplers } = completionFields;

/** A bias is a number, or false to ban the token. */
type Bias = number | false;
/** By token, or by a text whose tokens all get the bias; of a list, `toLogitBias` checks what its pairs hold. */
export type LogitBiases = Record<string, Bias> | (number | string | boolean)[][];

const bias = { anyOf: [{ type: 'number' }, { const: false }] };

/** What `/completion` and `/infill` have in common. */
const completing = {
  model,
  ...samplers,
  stream,
  temperature,
  top_p: topP,
  logit_bias: field(
    'Token or text → what is added to its logit, or false to ban it; also as a list of pairs.',
    typed<LogitBiases>({
      type: ['object', 'array'],
      maxProperties: MAX_LOGIT_BIASES,
      additionalProperties: bias,
      maxItems: MAX_LOGIT_BIASES,
      items: {
        type: 'array',
        minItems: 2,
        maxItems: 2,
        items: { type: ['number', 'string', 'boolean'] },
      },
    }),
  ),
  n_predict: field(
    'The most tokens of a completion; -1 is no limit, and 0 only reads the prompt, so that it is cached.',
    integer,
    { minimum: -1 },
  ),
  max_tokens: field('The same; `n_predict` goes before it.', integer, { minimum: -1 }),
  n: field('How many completions to give.', integer, { minimum: 1, maximum: MAX_CHOICES }),
  n_probs: field('How many alternatives to report with each token; 0 is none.', integer, {
    minimum: 0,
    maximum: MAX_TOP_LOGPROBS,
  }),
  post_sampling_probs: field(
    'Whether these are the probabilities of the draw, after all samplers, and not the logarithms of the model’s own.',
    boolean,
  ),
  timings_per_token: timingsPerToken,
  return_progress: returnProgress,
  return_tokens: field('Reports the ids of the tokens with the whole reply; streams always do.', boolean),
  response_fields: field(
    'Fields of the whole reply, such as `generation_settings/n_predict`; without it, all.',
    limited(arrayOf(string), { maxItems: MAX_RESPONSE_FIELDS }),
  ),
  grammar: field("What the completion must match, in llama.cpp's GBNF; an empty one is none.", string),
  json_schema: field('The JSON schema that the completion is made to follow.', jsonSchema),
};

/** A text, tokens, both in one list, or several of these; a text may also stand in an object. */
export type PromptPart = string | number;
export interface PromptObject {
  prompt_string: string;
  multimodal_data?: unknown;
}
export type PromptField = PromptPart | PromptObject | (PromptPart | PromptObject | PromptPart[])[];

const token = { type: 'integer', minimum: 0, maximum: 2 ** 31 - 1 };
const promptObject = { type: 'object', required: ['prompt_string'], properties: { prompt_string: string } };

const prompt = field(
  'A text, or tokens, or both in one list; or several of these.',
  typed<Exclude<PromptField, number>>({
    type: ['string', 'array', 'object'],
    minItems: 1,
    ...promptProperties(),
    items: {
      ...token,
      type: ['string', 'integer', 'array', 'object'],
      minItems: 1,
      ...promptProperties(),
      items: { ...token, type: ['string', 'integer'] },
    },
  }),
);

function promptProperties() {
  const { required, properties } = promptObject;
  return { required, properties };
}

export const nativeCompletionSchema = objectOf({ prompt }, completing);

const extraText = objectOf({ text: string }, { filename: string });

export const infillSchema = objectOf(
  {
    input_prefix: field('What comes before the gap.', string),
    input_suffix: field('What comes after the gap.', string),
  },
  {
    input_extra: field(
      'Other texts that the model should know of, such as files of the same project.',
      limited(arrayOf(extraText), { maxItems: MAX_EXTRA_TEXTS }),
    ),
    prompt: field('What the filling begins with: it follows the prefix.', string),
    ...completing,
  },
);

/** The body of `POST /rerank`, as Text Embeddings Inference has it, and with `documents` as llama-server does. */
export const textRankSchema = objectOf(
  { query: field('What is looked for.', string) },
  {
    model,
    texts: field('What is to be put in order.', limited(arrayOf(string), { minItems: 1, maxItems: MAX_DOCUMENTS })),
    documents: field(
      'The same; the reply is that of `/v1/rerank` then.',
      limited(arrayOf(string), { minItems: 1, maxItems: MAX_DOCUMENTS }),
    ),
    top_n: field('How many results to return, the most relevant first; without it, all.', integer, { minimum: 1 }),
    return_text: field('Returns the texts as well.', boolean),
    raw_scores: field("Whether scores are the model's own; if not, they are scaled to 0 to 1.", boolean, {
      default: false,
    }),
    keep_alive: completionFields.keep_alive,
    ttl: completionFields.ttl,
  },
);

export type NativeSettings = StaticFields<Record<never, never>, typeof completing>;
export type NativeCompletionRequest = Static<typeof nativeCompletionSchema>;
export type InfillRequest = Static<typeof infillSchema>;
export type ExtraText = Static<typeof extraText>;
export type TextRankRequest = Static<typeof textRankSchema>;
