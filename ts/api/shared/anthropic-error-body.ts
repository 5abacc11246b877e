/** Our envelope → one that is Anthropic's as well: `type` beside `error`, and the kind of failure in its words. */
import type { ErrorBody } from '../../http/error-body.js';

export interface AnthropicErrorBody {
  type: 'error';
  error: Omit<ErrorBody['error'], 'type'> & { type: string };
}

export function toAnthropicError({ error }: ErrorBody): AnthropicErrorBody {
  return { type: 'error', error: { ...error, message: toAnthropicMessage(error), type: toAnthropicType(error) } };
}

/**
 * Clients look for these words of Anthropic's, and some for nothing beside them, to know that they have to shorten their
 * conversation. A prompt has to leave room for one token.
 */
function toAnthropicMessage({ message, n_prompt_tokens: tokens, n_ctx: context }: ErrorBody['error']): string {
  if (tokens === undefined || context === undefined) return message;
  return `prompt is too long: ${tokens} tokens > ${context - 1} maximum`;
}

function toAnthropicType({ type, code }: ErrorBody['error']): string {
  if (code === 'request_too_large') return 'request_too_large';
  if (code === 'engine_closed' || code === 'server_busy') return 'overloaded_error';
  return type === 'server_error' ? 'api_error' : type;
}
