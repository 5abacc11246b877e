/** The reply of `POST /v1/messages`: whole, and as the event that begins a stream has it. */
import {
  anyOf,
  anything,
  arrayOf,
  exactly,
  integer,
  nothing,
  objectOf,
  oneOf,
  orNull,
  type Static,
  string,
  typed,
} from '../../../http/schema/json-schema.js';

const block = anyOf(
  objectOf({ type: exactly('text'), text: string }),
  objectOf({
    type: exactly('thinking'),
    thinking: string,
    /** Only Anthropic's own servers sign reasoning. */
    signature: typed<''>(string),
  }),
  objectOf({
    type: exactly('tool_use'),
    id: string,
    name: string,
    input: anything,
    caller: objectOf({ type: exactly('direct') }),
  }),
);

const stopReason = oneOf('end_turn', 'max_tokens', 'model_context_window_exceeded', 'stop_sequence', 'tool_use');

const stopping = {
  container: nothing,
  stop_details: nothing,
  stop_reason: orNull(stopReason),
  stop_sequence: orNull(string),
};

const usage = objectOf({
  /** The tokens of the prompt that were computed for this completion. */
  input_tokens: integer,
  /** The tokens of the prompt that were found in the cache. */
  cache_read_input_tokens: integer,
  /** Always 0, because writing to the cache costs nothing here. */
  cache_creation_input_tokens: integer,
  cache_creation: nothing,
  output_tokens: integer,
  /** Null if the template does not tell reasoning apart and there were no tools. */
  output_tokens_details: orNull(objectOf({ thinking_tokens: integer })),
  inference_geo: nothing,
  server_tool_use: nothing,
  service_tier: exactly('standard'),
  speed: nothing,
});

export const messageReplySchema = objectOf({
  id: string,
  type: exactly('message'),
  role: exactly('assistant'),
  model: string,
  content: arrayOf(block),
  ...stopping,
  diagnostics: nothing,
  usage,
});

const delta = anyOf(
  objectOf({ type: exactly('text_delta'), text: string }),
  objectOf({ type: exactly('thinking_delta'), thinking: string }),
  objectOf({ type: exactly('signature_delta'), signature: string }),
  objectOf({ type: exactly('input_json_delta'), partial_json: string }),
);

export const messageEventSchema = anyOf(
  objectOf({ type: exactly('message_start'), message: messageReplySchema }),
  objectOf({ type: exactly('ping') }),
  objectOf({ type: exactly('content_block_start'), index: integer, content_block: block }),
  objectOf({ type: exactly('content_block_delta'), index: integer, delta }),
  objectOf({ type: exactly('content_block_stop'), index: integer }),
  objectOf({ type: exactly('message_delta'), delta: objectOf(stopping), usage }),
  objectOf({ type: exactly('message_stop') }),
);

/** The reply of `POST /v1/messages/count_tokens`. */
export const tokenCountSchema = objectOf({ input_tokens: integer });

export type CompletionBlock = Static<typeof block>;
export type StopReason = Static<typeof stopReason>;
export type MessageReply = Static<typeof messageReplySchema>;
export type TokenCount = Static<typeof tokenCountSchema>;
