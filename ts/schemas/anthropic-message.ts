/** The reply of `POST /v1/messages`: whole, and as the event that begins a stream has it. */

export type AnswerBlock =
  | { type: 'text'; text: string; citations: null }
  /** Only Anthropic's own servers sign reasoning. */
  | { type: 'thinking'; thinking: string; signature: '' }
  | { type: 'tool_use'; id: string; name: string; input: unknown; caller: { type: 'direct' } };

export type StopReason = 'end_turn' | 'max_tokens' | 'model_context_window_exceeded' | 'stop_sequence' | 'tool_use';

export interface MessageUsage {
  /** Those of the prompt that were computed for this answer. */
  input_tokens: number;
  /** Those of the prompt that were found in the cache. */
  cache_read_input_tokens: number;
  /** Always 0: every prompt is kept, at no price. */
  cache_creation_input_tokens: number;
  output_tokens: number;
  /** Where the template tells reasoning from answers, or there were tools. */
  output_tokens_details?: { thinking_tokens: number };
}

export interface MessageReply {
  id: string;
  type: 'message';
  role: 'assistant';
  model: string;
  content: AnswerBlock[];
  stop_reason: StopReason | null;
  stop_sequence: string | null;
  usage: MessageUsage;
}

/** The reply of `POST /v1/messages/count_tokens`. */
export interface TokenCount {
  input_tokens: number;
}
