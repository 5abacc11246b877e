import * as s from '../../http/schema/json-schema.js';
import { functionName, variantsBy } from '../../http/schema/variants.js';
import { completionFields, MAX_STOP_STRINGS, MAX_TOP_LOGPROBS, stopString } from '../shared/chat/chat-schema.js';
import { callArguments } from '../shared/chat/message-schema.js';
import { ollamaSampling, samplingFields } from '../shared/chat/sampler-fields.js';
import { logprobEntry } from '../shared/completion/chat-reply-schema.js';
import { modelUseFields } from '../shared/model-use-schema.js';
import { MAX_EMBEDDING_INPUTS } from '../shared/text/embeddings-schema.js';
import { functionToolSchema } from '../shared/tools/tool-schema.js';

const optionFields = {
  ...s.pickFields(samplingFields, ollamaSampling),
  seed: completionFields.seed,
  top_k: s.field('Samples from this many most probable tokens; 0: all.', s.integer),
  num_predict: s.field('Maximum number of tokens of a completion; less than 1: no limit.', s.integer),
  stop: s.field(
    'Stop strings: they end the completion and are not part of it.',
    s.orString(s.limited(s.arrayOf(stopString), { maxItems: MAX_STOP_STRINGS })),
  ),
};

/** The options that are obeyed; others, such as `num_ctx`, are for the server to decide. */
export const OLLAMA_OPTIONS: readonly string[] = Object.keys(optionFields);

const model = s.field('The name of a served model, with or without `:latest`; see `GET /api/tags`.', s.string, {
  minLength: 1,
});
const options = s.objectOf({}, optionFields);
const optionsField = s.field('The sampling options of Ollama.', options);

const format = s.field(
  'Format of the completion: `json`, or a JSON schema.',
  s.typed<string | Record<string, unknown>>({
    type: ['string', 'object'],
    if: { type: 'string' },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { enum: ['json', ''] },
  }),
);

const think = s.field(
  'Whether or how long the model should reason before its completion, if its template supports it.',
  s.typed<boolean | 'low' | 'medium' | 'high'>({
    type: ['boolean', 'string'],
    if: { type: 'string' },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { enum: ['low', 'medium', 'high'] },
  }),
);

const completing = {
  stream: s.field('Streams the completion, one line per piece.', s.boolean, { default: true }),
  format,
  think,
  options: optionsField,
  logprobs: s.field('Reports the log-probabilities of the tokens.', s.boolean),
  top_logprobs: s.field('Number of alternatives to report with each token.', s.integer, {
    minimum: 0,
    maximum: MAX_TOP_LOGPROBS,
  }),
  keep_alive: modelUseFields.keep_alive,
};

const images = s.orNull(s.arrayOf(s.limited(s.string, { minLength: 1 })));
const content = s.orNull(s.string);

const toolCall = s.objectOf(
  {
    function: s.objectOf({ name: functionName }, { arguments: callArguments, index: s.integer }),
  },
  { id: s.orNull(s.string), type: s.anything },
);

const message = variantsBy('role', [
  s.objectOf({ role: s.exactly('system'), content: s.string }),
  s.objectOf({ role: s.exactly('user') }, { content, images }),
  s.objectOf(
    { role: s.exactly('assistant') },
    { content, thinking: s.orNull(s.string), tool_calls: s.orNull(s.arrayOf(toolCall)) },
  ),
  s.objectOf(
    { role: s.exactly('tool'), content: s.string },
    { tool_name: s.orNull(s.string), name: s.orNull(s.string), tool_call_id: s.orNull(s.string) },
  ),
]);

export const ollamaChatSchema = s.objectOf(
  { model },
  {
    messages: s.field(
      'The conversation so far, the oldest message first. Without any, the model is loaded.',
      s.arrayOf(message),
    ),
    tools: s.field('The functions that the model may call.', s.arrayOf(functionToolSchema)),
    ...completing,
  },
);

export const ollamaGenerateSchema = s.objectOf(
  { model },
  {
    prompt: s.field(
      'The message of the user, or with `raw` the text to continue. Without any, the model is loaded.',
      s.string,
    ),
    suffix: s.field('The text after the gap, for models that support infill.', s.string),
    images: s.field('Images of the message, in base64.', s.arrayOf(s.limited(s.string, { minLength: 1 }))),
    system: s.field('The system message.', s.string),
    raw: s.field('Continues `prompt` as it is, without a chat template.', s.boolean),
    template: s.field('Refused: only the template in the model file is used.', s.string),
    context: s.field(
      'Refused: the server stores no contexts. Send the conversation to `/api/chat`.',
      s.arrayOf(s.integer),
    ),
    ...completing,
  },
);

const embedding = {
  options: s.field('They have no effect.', s.typed<object>({ type: 'object' })),
  keep_alive: modelUseFields.keep_alive,
};

export const ollamaEmbedSchema = s.objectOf(
  {
    model,
  },
  {
    input: s.field(
      'One text or several; none: the model is only loaded.',
      s.orString(s.limited(s.arrayOf(s.string), { maxItems: MAX_EMBEDDING_INPUTS })),
    ),
    truncate: s.field('Whether to truncate texts that are too long instead of refusing them.', s.boolean, {
      default: true,
    }),
    dimensions: s.field("Length of the vectors, up to that of the model's embeddings.", s.integer, {
      minimum: 1,
    }),
    ...embedding,
  },
);

export const ollamaEmbeddingsSchema = s.objectOf(
  { model },
  { prompt: s.field('The text; none: the model is only loaded.', s.string), ...embedding },
);

export const ollamaShowSchema = s.objectOf(
  {},
  {
    model: s.field('The name of a model; see `GET /api/tags`.', s.string),
    name: s.field('The older name of `model`.', s.string),
    verbose: s.field('Changes nothing.', s.boolean),
    system: s.field('Changes nothing.', s.anything),
    template: s.field('Changes nothing.', s.anything),
    options: s.field('Changes nothing.', s.anything),
  },
);

const named = {
  model: s.field('The name of a model.', s.string),
  name: s.field('The older name of `model`.', s.string),
};

export const ollamaPullSchema = s.objectOf(
  {},
  {
    ...named,
    model: s.field('A model of the hub: `hf.co/user/repo:Q4_K_M`, with `hf.co/` or without.', s.string),
    stream: s.field('Whether to stream the progress, one line per event.', s.boolean, { default: true }),
    insecure: s.field('Changes nothing.', s.boolean),
  },
);

export const ollamaDeleteSchema = s.objectOf({}, named);

export type OllamaMessage = s.Static<typeof message>;
export type OllamaChatRequest = s.Static<typeof ollamaChatSchema>;
export type OllamaGenerateRequest = s.Static<typeof ollamaGenerateSchema>;
export type OllamaEmbedRequest = s.Static<typeof ollamaEmbedSchema>;
export type OllamaEmbeddingsRequest = s.Static<typeof ollamaEmbeddingsSchema>;
export type OllamaShowRequest = s.Static<typeof ollamaShowSchema>;
export type OllamaPullRequest = s.Static<typeof ollamaPullSchema>;
export type OllamaDeleteRequest = s.Static<typeof ollamaDeleteSchema>;

export type OllamaSettings = Pick<
  OllamaChatRequest,
  'format' | 'think' | 'options' | 'logprobs' | 'top_logprobs' | 'stream'
>;

const replyToolCall = s.objectOf({
  id: s.string,
  function: s.objectOf({ index: s.integer, name: s.string, arguments: s.recordOf(s.anything) }),
});

const replyMessage = s.objectOf(
  { role: s.exactly('assistant'), content: s.string },
  {
    /** The model's reasoning before its completion. */
    thinking: s.string,
    tool_calls: s.arrayOf(replyToolCall),
  },
);

const head = { model: s.string, created_at: s.string };

/** Only the last line of a stream, and a reply that is sent whole, has these. */
const ending = {
  /** `load` and `unload` answer requests without a prompt. */
  done_reason: s.oneOf('stop', 'length', 'load', 'unload'),
  total_duration: s.integer,
  load_duration: s.integer,
  prompt_eval_count: s.integer,
  prompt_eval_duration: s.integer,
  eval_count: s.integer,
  eval_duration: s.integer,
};

const logprobs = s.arrayOf(logprobEntry);

/** A line of a stream, or the whole reply. */
export const ollamaChatReplySchema = s.objectOf(
  { ...head, message: replyMessage, done: s.boolean },
  { logprobs, ...ending },
);
export const ollamaGenerateReplySchema = s.objectOf(
  { ...head, response: s.string, done: s.boolean },
  { thinking: s.string, logprobs, ...ending },
);

const details = s.objectOf({
  parent_model: s.string,
  format: s.exactly('gguf'),
  /** Empty, as what follows, for a model that is not loaded: it is not known. */
  family: s.string,
  families: s.arrayOf(s.string),
  parameter_size: s.string,
  quantization_level: s.string,
});

const listed = {
  name: s.string,
  model: s.string,
  size: s.integer,
  /** Tells entries of the list apart. It is made from name and size, not from the bytes of the file. */
  digest: s.string,
  details,
};

export const ollamaTagsSchema = s.objectOf({ models: s.arrayOf(s.objectOf({ ...listed, modified_at: s.string })) });

export const ollamaRunningSchema = s.objectOf({
  models: s.arrayOf(s.objectOf({ ...listed, expires_at: s.string, size_vram: s.integer, context_length: s.integer })),
});

export const ollamaModelSchema = s.objectOf({
  details,
  /** Under the keys that GGUF files have; empty for a model that is not loaded. */
  model_info: s.recordOf(s.anything),
  capabilities: s.arrayOf(s.oneOf('completion', 'tools', 'insert', 'vision', 'audio', 'thinking', 'embedding')),
  modified_at: s.string,
});

export const ollamaEmbedReplySchema = s.objectOf({
  model: s.string,
  embeddings: s.arrayOf(s.arrayOf(s.number)),
  total_duration: s.integer,
  load_duration: s.integer,
  prompt_eval_count: s.integer,
});

export const ollamaEmbeddingsReplySchema = s.objectOf({ embedding: s.arrayOf(s.number) });

export const ollamaVersionSchema = s.objectOf({
  /** The compatible version of Ollama. */
  version: s.string,
  /** Of this server. */
  chasqui: s.string,
});

/** A line about a download, or the whole reply. */
export const ollamaPullReplySchema = s.objectOf(
  /** `pulling …` precedes the progress of a file; the last status is `success`. */
  { status: s.string },
  { digest: s.string, total: s.integer, completed: s.integer },
);

/** Failures in Ollama's envelope, also as the last line of a stream. */
export function ollamaErrorSchema() {
  return s.objectOf({ error: s.string });
}

export type OllamaToolCall = s.Static<typeof replyToolCall>;
export type OllamaEnding = { [Name in keyof typeof ending]: s.Static<(typeof ending)[Name]> };
export type OllamaDetails = s.Static<typeof details>;
export type OllamaTags = s.Static<typeof ollamaTagsSchema>;
export type OllamaRunning = s.Static<typeof ollamaRunningSchema>;
export type OllamaModel = s.Static<typeof ollamaModelSchema>;
export type OllamaPullReply = s.Static<typeof ollamaPullReplySchema>;
export type OllamaVersion = s.Static<typeof ollamaVersionSchema>;
