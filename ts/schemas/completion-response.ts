/** The reply of `POST /v1/completions`: whole, or in chunks of the same shape. */
import type { FinishReason } from '../engine/engine.js';
import type { Usage } from './chat-response.js';

/** Columns: one element for each token of the choice. */
export interface LegacyLogprobs {
  tokens: string[];
  token_logprobs: number[];
  /** Token → log-probability, of the most probable ones; null when none were asked for. */
  top_logprobs: Record<string, number>[] | null;
  /** Where the token begins in the text, in characters. */
  text_offset: number[];
}

export interface Completion {
  id: string;
  object: 'text_completion';
  /** Unix seconds. */
  created: number;
  model: string;
  /** The choices of the first prompt, then those of the second ... Empty in the usage chunk only. */
  choices: {
    index: number;
    text: string;
    logprobs: LegacyLogprobs | null;
    /** Null in all chunks of a choice but its last. */
    finish_reason: FinishReason | null;
  }[];
  /** In chunks only if `stream_options.include_usage` asked: null in all but the last. */
  usage?: Usage | null;
}
