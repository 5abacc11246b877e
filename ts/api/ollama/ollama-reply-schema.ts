/** The replies of Ollama's endpoints. Times are whole nanoseconds, dates RFC 3339. */

import {
  anything,
  arrayOf,
  boolean,
  exactly,
  integer,
  number,
  objectOf,
  oneOf,
  recordOf,
  type Static,
  string,
} from '../../http/schema/json-schema.js';
import { logprobEntry } from '../shared/completion/chat-reply-schema.js';

const toolCall = objectOf({
  id: string,
  function: objectOf({ index: integer, name: string, arguments: recordOf(anything) }),
});

const message = objectOf(
  { role: exactly('assistant'), content: string },
  {
    /** The model's reasoning before its completion. */
    thinking: string,
    tool_calls: arrayOf(toolCall),
  },
);

const head = { model: string, created_at: string };

/** Only the last line of a stream, and a reply that is sent whole, has these. */
const ending = {
  /** `load` and `unload`: nothing was to be completed. */
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
export const ollamaChatReplySchema = objectOf({ ...head, message, done: boolean }, { logprobs, ...ending });
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
  /** Of Ollama, whose interface this is like. */
  version: string,
  /** Of this server. */
  chasqui: string,
});

/** A line about a download, or the whole reply. */
export const ollamaPullReplySchema = objectOf(
  /** `pulling …` of a file, whose progress follows; the last one is `success`. */
  { status: string },
  { digest: string, total: integer, completed: integer },
);

/** Failures in Ollama's envelope, also as the last line of a stream. */
export function ollamaErrorSchema() {
  return objectOf({ error: string });
}

export type OllamaToolCall = Static<typeof toolCall>;
export type OllamaEnding = { [Name in keyof typeof ending]: Static<(typeof ending)[Name]> };
export type OllamaDetails = Static<typeof details>;
export type OllamaTags = Static<typeof ollamaTagsSchema>;
export type OllamaRunning = Static<typeof ollamaRunningSchema>;
export type OllamaModel = Static<typeof ollamaModelSchema>;
export type OllamaEmbedReply = Static<typeof ollamaEmbedReplySchema>;
export type OllamaPullReply = Static<typeof ollamaPullReplySchema>;
export type OllamaVersion = Static<typeof ollamaVersionSchema>;
