import * as s from '../../http/schema/json-schema.js';
import { jsonSchema } from '../../http/schema/variants.js';
import {
  completionFields,
  MAX_CHOICES,
  MAX_LOGIT_BIASES,
  model,
  returnProgress,
  stream,
  temperature,
  timingsPerToken,
  topP,
} from '../shared/chat/chat-schema.js';
import {
  generationSettings,
  nativeEnding,
  promptProgress,
  timingsSoFar,
} from '../shared/completion/chat-reply-schema.js';
import { modelUseFields } from '../shared/model-use-schema.js';
import { embeddingData, embeddingsSchema } from '../shared/text/embeddings-schema.js';
import { MAX_DOCUMENTS } from '../shared/text/ranking-schema.js';

/** Bounds the size of a reply: each takes some 60 bytes per token. */
const MAX_N_PROBS = 256;

export const MAX_RESPONSE_FIELDS = 64;
export const MAX_EXTRA_TEXTS = 256;

const { logit_bias: _objectOnly, ...samplers } = completionFields;

/** A bias is a number, or false to ban the token. */
type Bias = number | false;
/** Keyed by token, or by a text: all its tokens get the bias. `toLogitBias` checks the pairs of a list. */
export type LogitBiases = Record<string, Bias> | (number | string | boolean)[][];

const bias = { anyOf: [{ type: 'number' }, { const: false }] };

/** The common fields of `/completion` and `/infill`. */
const completing = {
  model,
  ...samplers,
  stream,
  temperature,
  top_p: topP,
  logit_bias: s.field(
    'Token or text → bias of its logit, or false to ban it; also as a list of pairs.',
    s.typed<LogitBiases>({
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
  n_predict: s.field(
    'Maximum number of tokens of a completion; -1: no limit; 0: only reads the prompt into the cache.',
    s.integer,
    { minimum: -1 },
  ),
  max_tokens: s.field('The same; `n_predict` has precedence.', s.integer, { minimum: -1 }),
  n: s.field('Number of completions.', s.integer, { minimum: 1, maximum: MAX_CHOICES }),
  n_probs: s.field('Number of alternatives to report with each token; 0: none.', s.integer, {
    minimum: 0,
    maximum: MAX_N_PROBS,
  }),
  post_sampling_probs: s.field(
    'Whether to report the probabilities after all samplers instead of the model’s log-probabilities.',
    s.boolean,
  ),
  timings_per_token: timingsPerToken,
  return_progress: returnProgress,
  return_tokens: s.field('Reports the ids of the tokens with the whole reply; streams always do.', s.boolean),
  response_fields: s.field(
    'Fields of the whole reply, such as `generation_settings/n_predict`; without it, all.',
    s.limited(s.arrayOf(s.string), { maxItems: MAX_RESPONSE_FIELDS }),
  ),
  grammar: s.field("A grammar in llama.cpp's GBNF that the completion must match. Empty: none.", s.string),
  json_schema: s.field('A JSON schema that the completion must match.', jsonSchema),
};

/** The placeholder of an image in a text with `multimodal_data`, as in llama-server. */
export const MEDIA_MARKER = '<__media__>';

/** A text, tokens, both in one list, or several of these; a text may also stand in an object. */
export type PromptPart = string | number;
export interface PromptObject {
  prompt_string: string;
  /** Images in base64, one for each marker in the text. */
  multimodal_data?: readonly string[] | null;
}
export type PromptField = PromptPart | PromptObject | (PromptPart | PromptObject | PromptPart[])[];

const token = { type: 'integer', minimum: 0, maximum: 2 ** 31 - 1 };
const media = { type: ['array', 'null'], items: { type: 'string' } };
const promptObject = {
  type: 'object',
  required: ['prompt_string'],
  properties: { prompt_string: s.string, multimodal_data: media },
};

const promptInputs = s.typed<Exclude<PromptField, number>>({
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
});

const prompt = s.field(
  'A text, or tokens, or both in one list; or several of these. `{"prompt_string", "multimodal_data"}` is a text with images.',
  promptInputs,
);

function promptProperties() {
  const { required, properties } = promptObject;
  return { required, properties };
}

export const nativeCompletionSchema = s.objectOf({ prompt }, completing);

const extraText = s.objectOf({ text: s.string }, { filename: s.string });

export const infillSchema = s.objectOf(
  {
    input_prefix: s.field('The text before the gap.', s.string),
    input_suffix: s.field('The text after the gap.', s.string),
  },
  {
    input_extra: s.field(
      'Other texts for the model, such as files of the same project.',
      s.limited(s.arrayOf(extraText), { maxItems: MAX_EXTRA_TEXTS }),
    ),
    prompt: s.field('The beginning of the filling, directly after the prefix.', s.string),
    ...completing,
  },
);

/** The body of `POST /rerank`, as Text Embeddings Inference has it, and with `documents` as llama-server does. */
export const textRankSchema = s.objectOf(
  { query: s.field('What is looked for.', s.string) },
  {
    model,
    texts: s.field('The texts to rank.', s.limited(s.arrayOf(s.string), { minItems: 1, maxItems: MAX_DOCUMENTS })),
    documents: s.field(
      'The same, with the reply of `/v1/rerank`.',
      s.limited(s.arrayOf(s.string), { minItems: 1, maxItems: MAX_DOCUMENTS }),
    ),
    top_n: s.field('Number of results, the most relevant first; default: all.', s.integer, { minimum: 1 }),
    return_text: s.field('Returns the texts as well.', s.boolean),
    return_documents: s.field('The same.', s.boolean),
    raw_scores: s.field('Whether scores are unscaled. Otherwise they are scaled to 0 to 1.', s.boolean, {
      default: false,
    }),
    keep_alive: completionFields.keep_alive,
    ttl: completionFields.ttl,
  },
);

export const nativeEmbeddingSchema = s.objectOf(
  {},
  {
    model,
    input: s.field(
      'One text or several, as characters, as tokens or as a list of both; `{"prompt_string", "multimodal_data"}` is a text with images.',
      promptInputs,
    ),
    content: s.field('The same, if there is no `input`.', promptInputs),
    encoding_format: embeddingsSchema.properties.encoding_format,
    ...modelUseFields,
  },
);

export type NativeSettings = s.StaticFields<Record<never, never>, typeof completing>;
export type NativeCompletionRequest = s.Static<typeof nativeCompletionSchema>;
export type InfillRequest = s.Static<typeof infillSchema>;
export type ExtraText = s.Static<typeof extraText>;
export type NativeEmbeddingRequest = s.Static<typeof nativeEmbeddingSchema>;
export type TextRankRequest = s.Static<typeof textRankSchema>;

const tokenFields = { id: s.integer, token: s.string, bytes: s.arrayOf(s.integer) };
const logprobFields = { ...tokenFields, logprob: s.number };
/** With `post_sampling_probs`. */
const probFields = { ...tokenFields, prob: s.number };

const probabilities = s.arrayOf(
  s.anyOf(
    s.objectOf({ ...logprobFields, top_logprobs: s.arrayOf(s.objectOf(logprobFields)) }),
    s.objectOf({ ...probFields, top_probs: s.arrayOf(s.objectOf(probFields)) }),
  ),
);

/** Fields of stream events and of whole replies. */
const piece = {
  index: s.integer,
  content: s.string,
  tokens: s.arrayOf(s.integer),
  /** Always -1: a sequence has no place that a later request could ask for. */
  id_slot: s.integer,
  tokens_predicted: s.integer,
  tokens_evaluated: s.integer,
  completion_probabilities: probabilities,
};

const ending = {
  model: s.string,
  generation_settings: generationSettings,
  prompt: s.string,
  has_new_line: s.boolean,
  ...nativeEnding,
};

export const nativePieceSchema = s.objectOf(
  {
    index: s.integer,
    content: s.string,
    tokens: s.arrayOf(s.integer),
    stop: s.boolean,
    id_slot: s.integer,
    tokens_predicted: s.integer,
    tokens_evaluated: s.integer,
  },
  {
    completion_probabilities: probabilities,
    ...ending,
    /** Whole ones with the end; those so far in the events before it, when `timings_per_token` asked for them. */
    timings: s.anyOf(nativeEnding.timings, timingsSoFar),
    /** In events before the first text, when `return_progress` asked for it. */
    prompt_progress: promptProgress,
  },
);

/** With `response_fields`, any choice of these fields, and paths of fields within them. */
const chosen = s.typed<Record<string, unknown>>({
  type: 'object',
  properties: { ...piece, stop: s.boolean, ...ending },
  additionalProperties: true,
});

/** Several prompts or choices have a list of replies. */
export const nativeReplySchema = s.anyOf(chosen, s.arrayOf(chosen));

export const propsSchema = s.objectOf({
  /** Defaults of requests. */
  default_generation_settings: s.objectOf({ n_ctx: s.integer, params: generationSettings }),
  total_slots: s.integer,
  model_alias: s.string,
  /** The name of the file, without its folder. */
  model_path: s.string,
  model_ftype: s.string,
  modalities: s.objectOf({ vision: s.boolean, audio: s.boolean, video: s.boolean }),
  endpoint_slots: s.boolean,
  endpoint_props: s.boolean,
  endpoint_metrics: s.boolean,
  build_info: s.string,
  /** The placeholder of an image in prompts of `/completion`. */
  media_marker: s.string,
  is_sleeping: s.boolean,
});

/** As many of them are marked as sequences are being computed. What is computed there is not shown. */
export const slotsSchema = s.arrayOf(
  s.objectOf({ id: s.integer, n_ctx: s.integer, speculative: s.boolean, is_processing: s.boolean }),
);

/**
 * `scale` is what holds for requests that do not say; 0, as long as none was set: the model's own name means it alone.
 */
export const adapterListSchema = s.arrayOf(s.objectOf({ id: s.integer, name: s.string, scale: s.number }));

/** In their order, the most relevant first. */
export const textRankReplySchema = s.arrayOf(s.objectOf({ index: s.integer, score: s.number }, { text: s.string }));

/** Each input has a list of vectors: without pooling one for each token, otherwise a single one. */
export const nativeEmbeddingReplySchema = s.arrayOf(
  s.objectOf({ index: s.integer, embedding: s.arrayOf(embeddingData.properties.embedding) }),
);

export type NativeEmbeddingReply = s.Static<typeof nativeEmbeddingReplySchema>;
export type NativePiece = s.Static<typeof nativePieceSchema>;
export type NativeEnding = { [Name in keyof typeof ending]: s.Static<(typeof ending)[Name]> };
export type TokenProbability = s.Static<typeof probabilities>[number];
export type Props = s.Static<typeof propsSchema>;
export type Slots = s.Static<typeof slotsSchema>;
export const adaptersSetSchema = s.objectOf({ success: s.boolean });

export type AdaptersSet = s.Static<typeof adaptersSetSchema>;
export type AdapterList = s.Static<typeof adapterListSchema>;
export type TextRankReply = s.Static<typeof textRankReplySchema>;
