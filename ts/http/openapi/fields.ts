/** The meanings and defaults of request fields. Nearly all names mean the same in every endpoint. */
import type { SamplingSettings } from '../../engine/job.js';
import type { Profile } from '../../profiles/profile.js';

export const FIELD_DESCRIPTIONS: Readonly<Record<string, string>> = {
  model: 'The model that is served; see `GET /v1/models`.',
  messages: 'The conversation so far, the oldest message first.',
  stream: 'Sends the completion as server-sent events while it is being made.',
  stream_options: 'With `include_usage` a stream ends with a chunk that has the token counts.',
  temperature: 'How freely tokens are chosen; 0 always takes the most probable one.',
  top_p: 'Chooses among the most probable tokens that together have this probability.',
  top_k: 'Chooses among this many most probable tokens; 0 is all.',
  min_p: 'Leaves out tokens that are less probable than this share of the most probable one; 0 is off.',
  repetition_penalty: 'Divides the logits of tokens among the last 64; 1 is off.',
  repeat_penalty: 'Divides the logits of tokens among the last 64; 1 is off.',
  presence_penalty: 'Taken from the logits of tokens that have occurred.',
  frequency_penalty: 'Taken from the logits of tokens for each time that they have occurred.',
  logit_bias: 'Token id → what is added to its logit.',
  max_tokens: 'The most tokens that the completion may have; otherwise it ends by itself or with the context.',
  max_completion_tokens: 'The newer name of `max_tokens`; it wins when both are there.',
  stop: 'Strings that end the completion; they are not part of it.',
  seed: 'The same seed and request give the same completion, as far as the hardware computes the same.',
  n: 'How many completions to give.',
  logprobs: 'Reports how probable the tokens of the completion were.',
  top_logprobs: 'How many alternatives to report with each token.',
  response_format: 'What the completion must be: text, any JSON object, or JSON of a schema.',
  tools: 'The functions that the model may call.',
  tool_choice: 'Whether it must call one, and which.',
  parallel_tool_calls: 'Whether a completion may have several calls.',
  functions: 'The old form of `tools`; refused.',
  grammar: 'What the completion must match, as a grammar in GBNF.',
  reasoning_effort: 'How long the model should think, where its template knows such a thing.',
  chat_template_kwargs: "Variables of the model's chat template.",
  timings: 'Reports times and rates with the completion.',
  ignore_eos: 'Goes on past the end of text, for measuring.',
  cache_prompt: 'False computes the whole prompt anew.',
  lora: 'The adapters to compute with, by their places or names among those of the model; others have no effect.',
  keep_alive:
    'How long the model stays loaded when nobody uses it: seconds, or a text such as `5m`; 0: not at all, -1: for ever.',
  ttl: 'The same as seconds; `keep_alive` goes before it.',
  priority: 'Higher ones are served first; none is higher than the server allows.',
};

const SAMPLING_FIELDS: Readonly<Record<string, keyof SamplingSettings>> = {
  temperature: 'temperature',
  top_p: 'topP',
  top_k: 'topK',
  min_p: 'minP',
  repetition_penalty: 'repeatPenalty',
  repeat_penalty: 'repeatPenalty',
  presence_penalty: 'presencePenalty',
  frequency_penalty: 'frequencyPenalty',
};

const OTHER_DEFAULTS: Readonly<Record<string, unknown>> = {
  stream: false,
  n: 1,
  priority: 0,
  cache_prompt: true,
  ignore_eos: false,
  timings: false,
};

export function defaultOf(field: string, { sampling }: Profile): unknown {
  const setting = SAMPLING_FIELDS[field];
  return setting ? sampling[setting] : OTHER_DEFAULTS[field];
}
