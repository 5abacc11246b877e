import {
  anyOf,
  arrayOf,
  boolean,
  exactly,
  field,
  integer,
  limited,
  number,
  objectOf,
  oneOf,
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
  model,
  returnProgress,
  stream,
  temperature,
  timingsPerToken,
  topP,
} from '../shared/chat/chat-schema.js';
import { promptProgress, timings, timingsSoFar } from '../shared/completion/chat-reply-schema.js';
import { modelUseFields } from '../shared/model-use-schema.js';
import { embeddingData, embeddingsSchema } from '../shared/text/embeddings-schema.js';
import { MAX_DOCUMENTS } from '../shared/text/ranking-schema.js';
import { textInputs } from '../shared/text/text-schema.js';

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
    maximum: MAX_N_PROBS,
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
    input_prefix: field('The text before the gap.', string),
    input_suffix: field('What comes after the gap.', string),
  },
  {
    input_extra: field(
      'Other texts that the model should know of, such as files of the same project.',
      limited(arrayOf(extraText), { maxItems: MAX_EXTRA_TEXTS }),
    ),
    prompt: field('The beginning of the filling; it follows the prefix.', string),
    ...completing,
  },
);

/** The body of `POST /rerank`, as Text Embeddings Inference has it, and with `documents` as llama-server does. */
export const textRankSchema = objectOf(
  { query: field('What is looked for.', string) },
  {
    model,
    texts: field('The texts to rank.', limited(arrayOf(string), { minItems: 1, maxItems: MAX_DOCUMENTS })),
    documents: field(
      'The same; the reply is that of `/v1/rerank` then.',
      limited(arrayOf(string), { minItems: 1, maxItems: MAX_DOCUMENTS }),
    ),
    top_n: field('How many results to return, the most relevant first; without it, all.', integer, { minimum: 1 }),
    return_text: field('Returns the texts as well.', boolean),
    return_documents: field('The same.', boolean),
    raw_scores: field("Whether scores are the model's own; if not, they are scaled to 0 to 1.", boolean, {
      default: false,
    }),
    keep_alive: completionFields.keep_alive,
    ttl: completionFields.ttl,
  },
);

export const nativeEmbeddingSchema = objectOf(
  {},
  {
    model,
    input: field('One text or several, as characters or as tokens.', textInputs),
    content: field('The same, if there is no `input`.', textInputs),
    encoding_format: embeddingsSchema.properties.encoding_format,
    ...modelUseFields,
  },
);

export type NativeSettings = StaticFields<Record<never, never>, typeof completing>;
export type NativeCompletionRequest = Static<typeof nativeCompletionSchema>;
export type InfillRequest = Static<typeof infillSchema>;
export type ExtraText = Static<typeof extraText>;
export type NativeEmbeddingRequest = Static<typeof nativeEmbeddingSchema>;
export type TextRankRequest = Static<typeof textRankSchema>;

const tokenFields = { id: integer, token: string, bytes: arrayOf(integer) };
const logprobFields = { ...tokenFields, logprob: number };
/** With `post_sampling_probs`. */
const probFields = { ...tokenFields, prob: number };

const probabilities = arrayOf(
  anyOf(
    objectOf({ ...logprobFields, top_logprobs: arrayOf(objectOf(logprobFields)) }),
    objectOf({ ...probFields, top_probs: arrayOf(objectOf(probFields)) }),
  ),
);

/** The settings of the job under llama.cpp's names. */
const settings = typed<Record<string, unknown>>({ type: 'object', additionalProperties: true });

const nativeTimings = typed<object>({
  ...timings,
  properties: {
    ...timings.properties,
    prompt_per_token_ms: number,
    predicted_per_token_ms: number,
  },
});

/** Fields of stream events and of whole replies. */
const piece = {
  index: integer,
  content: string,
  tokens: arrayOf(integer),
  /** Always -1: a sequence has no place that a later request could ask for. */
  id_slot: integer,
  tokens_predicted: integer,
  tokens_evaluated: integer,
  completion_probabilities: probabilities,
};

const ending = {
  model: string,
  generation_settings: settings,
  prompt: string,
  has_new_line: boolean,
  /** Prompts are never shortened: one that does not fit is refused. */
  truncated: exactly(false),
  stop_type: oneOf('eos', 'limit', 'word'),
  stopping_word: string,
  /** The prompt's tokens that were found in the cache. */
  tokens_cached: integer,
  timings: nativeTimings,
};

export const nativePieceSchema = objectOf(
  {
    index: integer,
    content: string,
    tokens: arrayOf(integer),
    stop: boolean,
    id_slot: integer,
    tokens_predicted: integer,
    tokens_evaluated: integer,
  },
  {
    completion_probabilities: probabilities,
    ...ending,
    /** Whole ones with the end; those so far in the events before it, when `timings_per_token` asked for them. */
    timings: anyOf(nativeTimings, timingsSoFar),
    /** In events before the first text, when `return_progress` asked for it. */
    prompt_progress: promptProgress,
  },
);

/** With `response_fields`, any choice of these fields, and paths of fields within them. */
const chosen = typed<Record<string, unknown>>({
  type: 'object',
  properties: { ...piece, stop: boolean, ...ending },
  additionalProperties: true,
});

/** Several prompts or choices have a list of replies. */
export const nativeReplySchema = anyOf(chosen, arrayOf(chosen));

export const propsSchema = objectOf({
  /** Defaults of requests. */
  default_generation_settings: objectOf({ n_ctx: integer, params: settings }),
  total_slots: integer,
  model_alias: string,
  /** The name of the file, without its folder. */
  model_path: string,
  model_ftype: string,
  modalities: objectOf({ vision: boolean, audio: boolean, video: boolean }),
  endpoint_slots: boolean,
  endpoint_props: boolean,
  endpoint_metrics: boolean,
  build_info: string,
  is_sleeping: boolean,
});

/** As many of them are marked as sequences are being computed. What is computed there is not shown. */
export const slotsSchema = arrayOf(
  objectOf({ id: integer, n_ctx: integer, speculative: boolean, is_processing: boolean }),
);

/**
 * `scale` is what holds for requests that do not say; 0, as long as none was set: the model's own name means it alone.
 */
export const adapterListSchema = arrayOf(objectOf({ id: integer, name: string, scale: number }));

/** In their order, the most relevant first. */
export const textRankReplySchema = arrayOf(objectOf({ index: integer, score: number }, { text: string }));

/** Llama-server has one vector per token without pooling, so each input has a list of vectors. */
export const nativeEmbeddingReplySchema = arrayOf(
  objectOf({ index: integer, embedding: arrayOf(embeddingData.properties.embedding) }),
);

export type NativeEmbeddingReply = Static<typeof nativeEmbeddingReplySchema>;
export type NativePiece = Static<typeof nativePieceSchema>;
export type NativeEnding = { [Name in keyof typeof ending]: Static<(typeof ending)[Name]> };
export type TokenProbability = Static<typeof probabilities>[number];
export type Props = Static<typeof propsSchema>;
export type Slots = Static<typeof slotsSchema>;
export const adaptersSetSchema = objectOf({ success: boolean });

export type AdaptersSet = Static<typeof adaptersSetSchema>;
export type AdapterList = Static<typeof adapterListSchema>;
export type TextRankReply = Static<typeof textRankReplySchema>;
