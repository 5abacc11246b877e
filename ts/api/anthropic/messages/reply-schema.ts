/** The reply of `POST /v1/messages`, also part of the first event of a stream. */
import * as s from '../../../http/schema/json-schema.js';

const block = s.anyOf(
  s.objectOf({ type: s.exactly('text'), text: s.string }),
  s.objectOf({
    type: s.exactly('thinking'),
    thinking: s.string,
    /** Only Anthropic's own servers sign reasoning. */
    signature: s.typed<''>(s.string),
  }),
  s.objectOf({
    type: s.exactly('tool_use'),
    id: s.string,
    name: s.string,
    input: s.anything,
    caller: s.objectOf({ type: s.exactly('direct') }),
  }),
);

const stopReason = s.oneOf('end_turn', 'max_tokens', 'model_context_window_exceeded', 'stop_sequence', 'tool_use');

const stopping = {
  container: s.nothing,
  stop_details: s.nothing,
  stop_reason: s.orNull(stopReason),
  stop_sequence: s.orNull(s.string),
};

const usage = s.objectOf({
  /** The tokens of the prompt that were computed for this completion. */
  input_tokens: s.integer,
  /** The tokens of the prompt that were found in the cache. */
  cache_read_input_tokens: s.integer,
  /** Always 0, because writing to the cache costs nothing here. */
  cache_creation_input_tokens: s.integer,
  cache_creation: s.nothing,
  output_tokens: s.integer,
  /** Null if the template does not tell reasoning apart and there were no tools. */
  output_tokens_details: s.orNull(s.objectOf({ thinking_tokens: s.integer })),
  inference_geo: s.nothing,
  server_tool_use: s.nothing,
  service_tier: s.exactly('standard'),
  speed: s.nothing,
});

export const messageReplySchema = s.objectOf({
  id: s.string,
  type: s.exactly('message'),
  role: s.exactly('assistant'),
  model: s.string,
  content: s.arrayOf(block),
  ...stopping,
  diagnostics: s.nothing,
  usage,
});

const delta = s.anyOf(
  s.objectOf({ type: s.exactly('text_delta'), text: s.string }),
  s.objectOf({ type: s.exactly('thinking_delta'), thinking: s.string }),
  s.objectOf({ type: s.exactly('signature_delta'), signature: s.string }),
  s.objectOf({ type: s.exactly('input_json_delta'), partial_json: s.string }),
);

export const messageEventSchema = s.anyOf(
  s.objectOf({ type: s.exactly('message_start'), message: messageReplySchema }),
  s.objectOf({ type: s.exactly('ping') }),
  s.objectOf({ type: s.exactly('content_block_start'), index: s.integer, content_block: block }),
  s.objectOf({ type: s.exactly('content_block_delta'), index: s.integer, delta }),
  s.objectOf({ type: s.exactly('content_block_stop'), index: s.integer }),
  s.objectOf({ type: s.exactly('message_delta'), delta: s.objectOf(stopping), usage }),
  s.objectOf({ type: s.exactly('message_stop') }),
);

/** The reply of `POST /v1/messages/count_tokens`. */
export const tokenCountSchema = s.objectOf({ input_tokens: s.integer });

export type CompletionBlock = s.Static<typeof block>;
export type StopReason = s.Static<typeof stopReason>;
export type MessageReply = s.Static<typeof messageReplySchema>;
export type TokenCount = s.Static<typeof tokenCountSchema>;
