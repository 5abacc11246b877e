/** Error bodies for requests without a route, with another method, or with a path that cannot be read. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { errorHandler } from '../http/error-handler.js';
import type { AppContext } from './context.js';
import { ollamaErrors } from './ollama/ollama-settings.js';
import { anthropicRoute } from './shared/anthropic-errors.js';

/** LM Studio's begin with a version. */
const OLLAMA_PATH = /^\/+api\/(?!v\d)/;
const ANTHROPIC_PATH = /\/v1\/+messages(?:\/|$)/;

/** `errorHandler` of the app: by the dialect of the path, else as OpenAI. */
export function errorsByPath(context: Pick<AppContext, 'options' | 'profile'>) {
  const openai = errorHandler(context.options);
  const anthropic = anthropicRoute(context.options).errorHandler;
  const ollama = context.profile.hasLocalEndpoints ? ollamaErrors(context).errorHandler : openai;
  return (thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const [path = ''] = request.url.split('?', 1);
    // Clients of Anthropic also call paths that are not served, such as those of batches.
    const isAnthropic = ANTHROPIC_PATH.test(path) || (request.is404 && 'anthropic-version' in request.headers);
    const handle = isAnthropic ? anthropic : OLLAMA_PATH.test(path) ? ollama : openai;
    return handle(thrown, request, reply);
  };
}
