/** Our envelope → one that is Anthropic's as well: `type` beside `error`, and the kind of failure in its words. */
import type { ErrorBody } from '../schemas/error.js';

export interface AnthropicErrorBody {
  type: 'error';
  error: Omit<ErrorBody['error'], 'type'> & { type: string };
}

export function toAnthropicError({ error }: ErrorBody): AnthropicErrorBody {
  return { type: 'error', error: { ...error, type: toAnthropicType(error) } };
}

function toAnthropicType({ type, code }: ErrorBody['error']): string {
  if (code === 'request_too_large') return 'request_too_large';
  if (code === 'engine_closed' || code === 'server_busy') return 'overloaded_error';
  return type === 'server_error' ? 'api_error' : type;
}
