/** The replies of llama-server's own endpoints. */

import {
  anyOf,
  arrayOf,
  boolean,
  exactly,
  integer,
  number,
  objectOf,
  oneOf,
  type Static,
  string,
  typed,
} from '../../http/schema/json-schema.js';
import { promptProgress, timings, timingsSoFar } from '../shared/completion/chat-reply-schema.js';

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

/** What the engine was told, under llama.cpp's names. */
const settings = typed<Record<string, unknown>>({ type: 'object', additionalProperties: true });

const nativeTimings = typed<object>({
  ...timings,
  properties: {
    ...timings.properties,
    prompt_per_token_ms: number,
    predicted_per_token_ms: number,
  },
});

/** Of each event of a stream, and of a reply that is sent whole. */
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
  /** What holds where a request does not say. */
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

export type NativePiece = Static<typeof nativePieceSchema>;
export type NativeEnding = { [Name in keyof typeof ending]: Static<(typeof ending)[Name]> };
export type TokenProbability = Static<typeof probabilities>[number];
export type Props = Static<typeof propsSchema>;
export type Slots = Static<typeof slotsSchema>;
export const adaptersSetSchema = objectOf({ success: boolean });

export type AdaptersSet = Static<typeof adaptersSetSchema>;
export type AdapterList = Static<typeof adapterListSchema>;
export type TextRankReply = Static<typeof textRankReplySchema>;
