import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ErrorBody } from '../../http/error-body.js';
import { type ErrorReporting, errorHandler } from '../../http/error-handler.js';

export interface AnthropicErrorBody {
  type: 'error';
  /** Null if only the headers of the reply contain it. */
  request_id: string | null;
  error: Omit<ErrorBody['error'], 'type'> & { type: string; details?: { error_code: string } };
}

export function toAnthropicError({ error }: ErrorBody, requestId: string | null = null): AnthropicErrorBody {
  // Clients recognize a lost thread by this code, and repeat the conversation.
  const details = error.code === 'thread_not_found' ? { details: { error_code: error.code } } : {};
  return {
    type: 'error',
    error: { ...error, message: toAnthropicMessage(error), type: toAnthropicType(error), ...details },
    request_id: requestId,
  };
}

/**
 * Clients recognize Anthropic's words, some of them nothing else, and shorten their conversation. A prompt must leave
 * space for one token.
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

/** Settings of a route. `applies` selects requests of Anthropic's clients on a path shared with other protocols. */
export function anthropicRoute(reporting: ErrorReporting, applies: (request: FastifyRequest) => boolean = () => true) {
  const replyPlainly = errorHandler(reporting);
  const replyWithError = errorHandler(reporting, toAnthropicError);
  return {
    // A request may be refused before a hook of this route runs.
    errorHandler: (thrown: unknown, request: FastifyRequest, reply: FastifyReply) => {
      if (!applies(request)) return replyPlainly(thrown, request, reply);
      nameRequest(request, reply);
      return replyWithError(thrown, request, reply);
    },
    onRequest: async (request: FastifyRequest, reply: FastifyReply) => {
      if (applies(request)) nameRequest(request, reply);
    },
  };
}

/** Anthropic's clients read the request id from this header. */
function nameRequest(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('request-id', request.id);
}
