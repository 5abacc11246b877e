/** What routes for Anthropic's clients have in common: their envelope of errors, and their name for a request's id. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type ErrorReporting, errorHandler } from '../../http/error-handler.js';
import { toAnthropicError } from './anthropic-error-body.js';

/** Settings of a route. `applies` says of which requests they are true, where others have the same path. */
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

/** Anthropic's clients look for the request's id under this name. */
function nameRequest(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('request-id', request.id);
}
