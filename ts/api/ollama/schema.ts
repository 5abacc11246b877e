import {
  anything,
  arrayOf,
  boolean,
  exactly,
  field,
  integer,
  limited,
  number,
  objectOf,
  oneOf,
  orNull,
  orString,
  pickFields,
  recordOf,
  type Static,
  string,
  typed,
} from '../../http/schema/json-schema.js';
import { functionName, variantsBy } from '../../http/schema/variants.js';
import { completionFields, MAX_STOP_STRINGS, MAX_TOP_LOGPROBS, stopString } from '../shared/chat/chat-schema.js';
import { ollamaSampling, samplingFields } from '../shared/chat/sampler-fields.js';
import { logprobEntry } from '../shared/completion/chat-reply-schema.js';
import { modelUseFields } from '../shared/model-use-schema.js';
import { MAX_EMBEDDING_INPUTS } from '../shared/text/embeddings-schema.js';
import { functionToolSchema } from '../shared/tools/tool-schema.js';

const optionFields = {
  ...pickFields(samplingFields, ollamaSampling),
  seed: completionFields.seed,
  top_k: field('Chooses among this many most probable tokens; 0 is all.', integer),
  num_predict: field('The most tokens of a completion; less than 1 is no limit.', integer),
  stop: field(
    'Texts that end the completion and are not part of it.',
    orString(limited(arrayOf(stopString), { maxItems: MAX_STOP_STRINGS })),
  ),
};

/** The options that are obeyed; others, such as `num_ctx`, are for the server to decide. */
export const OLLAMA_OPTIONS: readonly string[] = Object.keys(optionFields);

const model = field('The name of a model that is served, with `:latest` or without; see `GET /api/tags`.', string, {
  minLength: 1,
});
const options = objectOf({}, optionFields);
const optionsField = field("Ollama's options, as far as they are about sampling.", options);

const format = field(
  'What the completion must be: `json`, or JSON that follows a schema.',
  typed<string | Record<string, unknown>>({
    type: ['string', 'object'],
    if: { type: 'string' },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { enum: ['json', ''] },
  }),
);

const think = field(
  'Whether the model should reason before its completion, or for how long, where its template knows that.',
  typed<boolean | 'low' | 'medium' | 'high'>({
    type: ['boolean', 'string'],
    if: { type: 'string' },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { enum: ['low', 'medium', 'high'] },
  }),
);

const completing = {
  stream: field('Sends a line for each piece of the completion while it is computed.', boolean, { default: true }),
  format,
  think,
  options: optionsField,
  logprobs: field('Reports how probable the tokens of the completion were.', boolean),
  top_logprobs: field('How many alternatives to report with each token.', integer, {
    minimum: 0,
    maximum: MAX_TOP_LOGPROBS,
  }),
  keep_alive: modelUseFields.keep_alive,
};

const images = orNull(arrayOf(limited(string, { minLength: 1 })));
const content = orNull(string);

const toolCall = objectOf(
  {
    function: objectOf(
      { name: functionName },
      { arguments: typed<Record<string, unknown> | string>({ type: ['object', 'string'] }), index: integer },
    ),
  },
  { id: orNull(string) },
);

const message = variantsBy('role', [
  objectOf({ role: exactly('system'), content: string }),
  objectOf({ role: exactly('user') }, { content, images }),
  objectOf(
    { role: exactly('assistant') },
    { content, thinking: orNull(string), tool_calls: orNull(arrayOf(toolCall)) },
  ),
  objectOf(
    { role: exactly('tool'), content: string },
    { tool_name: orNull(string), name: orNull(string), tool_call_id: orNull(string) },
  ),
]);

export const ollamaChatSchema = objectOf(
  { model },
  {
    messages: field(
      'The conversation so far, the oldest message first. Without any, the model is loaded.',
      arrayOf(message),
    ),
    tools: field('The functions that the model may call.', arrayOf(functionToolSchema)),
    ...completing,
  },
);

export const ollamaGenerateSchema = objectOf(
  { model },
  {
    prompt: field(
      'The message of the user, or with `raw` the text to continue. Without any, the model is loaded.',
      string,
    ),
    suffix: field('The text after the gap, for models that support infill.', string),
    images: field('Images of the message, in base64.', arrayOf(limited(string, { minLength: 1 }))),
    system: field('The system message.', string),
    raw: field('Continues `prompt` as it is, without a chat template.', boolean),
    template: field("Refused, because the template is that of the model's file.", string),
    context: field('Refused, because nothing is stored: send the conversation to `/api/chat`.', arrayOf(integer)),
    ...completing,
  },
);

const embedding = {
  options: field('None of them matters here.', typed<object>({ type: 'object' })),
  keep_alive: modelUseFields.keep_alive,
};

export const ollamaEmbedSchema = objectOf(
  {
    model,
  },
  {
    input: field(
      'One text or several; none: the model is only loaded.',
      orString(limited(arrayOf(string), { maxItems: MAX_EMBEDDING_INPUTS })),
    ),
    truncate: field('Whether a text that is too long is shortened; if not, it is refused.', boolean, { default: true }),
    dimensions: field("How many numbers to keep, up to the length of the model's embeddings.", integer, { minimum: 1 }),
    ...embedding,
  },
);

export const ollamaEmbeddingsSchema = objectOf(
  { model },
  { prompt: field('The text; none: the model is only loaded.', string), ...embedding },
);

export const ollamaShowSchema = objectOf(
  {},
  {
    model: field('The name of a model; see `GET /api/tags`.', string),
    name: field('The older name of `model`.', string),
    verbose: field('Changes nothing.', boolean),
    system: field('Changes nothing.', anything),
    template: field('Changes nothing.', anything),
    options: field('Changes nothing.', anything),
  },
);

const named = {
  model: field('The name of a model.', string),
  name: field('The older name of `model`.', string),
};

export const ollamaPullSchema = objectOf(
  {},
  {
    ...named,
    model: field('A model of the hub: `hf.co/user/repo:Q4_K_M`, with `hf.co/` or without.', string),
    stream: field('Whether progress is told, in lines.', boolean, { default: true }),
    insecure: field('Changes nothing.', boolean),
  },
);

export const ollamaDeleteSchema = objectOf({}, named);

export type OllamaMessage = Static<typeof message>;
export type OllamaChatRequest = Static<typeof ollamaChatSchema>;
export type OllamaGenerateRequest = Static<typeof ollamaGenerateSchema>;
export type OllamaEmbedRequest = Static<typeof ollamaEmbedSchema>;
export type OllamaEmbeddingsRequest = Static<typeof ollamaEmbeddingsSchema>;
export type OllamaShowRequest = Static<typeof ollamaShowSchema>;
export type OllamaPullRequest = Static<typeof ollamaPullSchema>;
export type OllamaDeleteRequest = Static<typeof ollamaDeleteSchema>;

export type OllamaSettings = Pick<
  OllamaChatRequest,
  'format' | 'think' | 'options' | 'logprobs' | 'top_logprobs' | 'stream'
>;

const replyToolCall = objectOf({
  id: string,
  function: objectOf({ index: integer, name: string, arguments: recordOf(anything) }),
});

const replyMessage = objectOf(
  { role: exactly('assistant'), content: string },
  {
    /** The model's reasoning before its completion. */
    thinking: string,
    tool_calls: arrayOf(replyToolCall),
  },
);

const head = { model: string, created_at: string };

/** Only the last line of a stream, and a reply that is sent whole, has these. */
const ending = {
  /** `load` and `unload` answer requests without a prompt. */
  done_reason: oneOf('stop', 'length', 'load', 'unload'),
  total_duration: integer,
  load_duration: integer,
  prompt_eval_count: integer,
  prompt_eval_duration: integer,
  eval_count: integer,
  eval_duration: integer,
};

const logprobs = arrayOf(logprobEntry);

/** A line of a stream, or the whole reply. */
export const ollamaChatReplySchema = objectOf(
  { ...head, message: replyMessage, done: boolean },
  { logprobs, ...ending },
);
export const ollamaGenerateReplySchema = objectOf(
  { ...head, response: string, done: boolean },
  { thinking: string, logprobs, ...ending },
);

const details = objectOf({
  parent_model: string,
  format: exactly('gguf'),
  /** Empty, as what follows, for a model that is not loaded: it is not known. */
  family: string,
  families: arrayOf(string),
  parameter_size: string,
  quantization_level: string,
});

const listed = {
  name: string,
  model: string,
  size: integer,
  /** Tells entries of the list apart. It is made from name and size, not from the bytes of the file. */
  digest: string,
  details,
};

export const ollamaTagsSchema = objectOf({ models: arrayOf(objectOf({ ...listed, modified_at: string })) });

export const ollamaRunningSchema = objectOf({
  models: arrayOf(objectOf({ ...listed, expires_at: string, size_vram: integer, context_length: integer })),
});

export const ollamaModelSchema = objectOf({
  details,
  /** Under the keys that GGUF files have; empty for a model that is not loaded. */
  model_info: recordOf(anything),
  capabilities: arrayOf(oneOf('completion', 'tools', 'insert', 'vision', 'thinking', 'embedding')),
  modified_at: string,
});

export const ollamaEmbedReplySchema = objectOf({
  model: string,
  embeddings: arrayOf(arrayOf(number)),
  total_duration: integer,
  load_duration: integer,
  prompt_eval_count: integer,
});

export const ollamaEmbeddingsReplySchema = objectOf({ embedding: arrayOf(number) });

export const ollamaVersionSchema = objectOf({
  /** The compatible version of Ollama. */
  version: string,
  /** Of this server. */
  chasqui: string,
});

/** A line about a download, or the whole reply. */
export const ollamaPullReplySchema = objectOf(
  /** `pulling …` precedes the progress of a file; the last status is `success`. */
  { status: string },
  { digest: string, total: integer, completed: integer },
);

/** Failures in Ollama's envelope, also as the last line of a stream. */
export function ollamaErrorSchema() {
  return objectOf({ error: string });
}

export type OllamaToolCall = Static<typeof replyToolCall>;
export type OllamaEnding = { [Name in keyof typeof ending]: Static<(typeof ending)[Name]> };
export type OllamaDetails = Static<typeof details>;
export type OllamaTags = Static<typeof ollamaTagsSchema>;
export type OllamaRunning = Static<typeof ollamaRunningSchema>;
export type OllamaModel = Static<typeof ollamaModelSchema>;
export type OllamaPullReply = Static<typeof ollamaPullReplySchema>;
export type OllamaVersion = Static<typeof ollamaVersionSchema>;
