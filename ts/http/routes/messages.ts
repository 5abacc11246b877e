/**
 * A messages request's way through the server: it becomes a chat body, and its completion or error an Anthropic
 * message.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { toAnthropicError } from '../../anthropic/error-body.js';
import { MessageEvents, messageFailure } from '../../anthropic/message-events.js';
import { toChat } from '../../anthropic/to-chat.js';
import { unenforcedParts } from '../../chat/check-schema.js';
import { CompletionEventEncoder } from '../../chat/completion-event-encoder.js';
import { renderBody, startCompletion } from '../../chat/start-completion.js';
import type { TokenCount } from '../../schemas/anthropic-message.js';
import {
  countTokensSchema,
  type MessagesRequest,
  messagesParameters,
  messagesSchema,
} from '../../schemas/anthropic-request.js';
import type { AppContext } from '../context.js';
import { errorHandler } from '../error-handler.js';
import { MAX_IGNORED_PARTS, nameIgnoredParts, readFields } from '../read-fields.js';
import { replyWithEvents } from '../reply-with-events.js';
import { withModel } from '../with-model.js';

const URL = '/v1/messages';
const COUNT_URL = '/v1/messages/count_tokens';

export function messagesRoutes(app: FastifyInstance, context: AppContext): void {
  const { profile, options } = context;
  const { bodyLimit, imageHosts } = options;
  const replyWithError = errorHandler(options, toAnthropicError);
  const common = {
    bodyLimit,
    // A request may be refused before a hook of this route runs.
    errorHandler: (thrown: unknown, request: FastifyRequest, reply: FastifyReply) => {
      nameRequest(request, reply);
      return replyWithError(thrown, request, reply);
    },
    onRequest: async (request: FastifyRequest, reply: FastifyReply) => nameRequest(request, reply),
    preValidation: readFields(profile, options.strict, messagesParameters(profile.parameters)),
  };
  const schema = { body: messagesSchema(profile.parameters) };
  const countSchema = { body: countTokensSchema(profile.parameters) };

  const complete = withModel<MessagesRequest>(
    context,
    async (request, reply, { engine, signal }) => {
      const { body } = request;
      const { body: chat, origins } = toChat(body);
      return origins.guard(chat, async () => {
        const rendered = await renderBody(engine, chat, { hosts: imageHosts, signal });
        nameIgnoredParts(
          reply,
          unenforcedParts(chat, MAX_IGNORED_PARTS).map((part) => origins.nameOf(part)),
        );
        // The first event of a stream says how long the prompt is.
        const promptTokens = body.stream ? await engine.countTokens(rendered, { signal }) : 0;
        const started = startCompletion(engine, profile, chat, rendered, { signal, whole: !body.stream });
        const streams = request.record.follow(engine.model.id, started, { prompt: rendered.prompt });
        const { max_tokens: maxTokens, stop_sequences: stopSequences = [] } = body;
        const events = new MessageEvents({ model: engine.model.id, promptTokens, maxTokens, stopSequences });
        const encoder = new CompletionEventEncoder(events, rendered.format !== null);
        if (!body.stream) {
          await encoder.collect(streams);
          return events.message;
        }
        const translate = (thrown: unknown) => origins.translate(thrown, chat);
        return replyWithEvents(request, reply, { streams, encoder, signal, translate }, options);
      });
    },
    { fail: messageFailure },
  );
  app.post<{ Body: MessagesRequest }>(URL, { ...common, schema }, complete);

  const count = withModel<MessagesRequest>(context, async (request, _reply, { engine, signal }) => {
    const { body: chat, origins } = toChat(request.body);
    return origins.guard(chat, async () => {
      const rendered = await renderBody(engine, chat, { hosts: imageHosts, signal });
      return { input_tokens: await engine.countTokens(rendered, { signal }) } satisfies TokenCount;
    });
  });
  app.post<{ Body: MessagesRequest }>(COUNT_URL, { ...common, schema: countSchema }, count);
}

/** Anthropic's clients look for the request's id under this name. */
function nameRequest(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('request-id', request.id);
}
