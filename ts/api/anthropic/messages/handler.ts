/** Handles a messages request: converts it to a chat body, and its completion or error to Anthropic's protocol. */

import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { CONVERSATION_ERRORS } from '../../../http/openapi/failures.js';
import { completionExamples, type Operation } from '../../../http/openapi/operation.js';
import { bodyRoute, MAX_IGNORED_PARTS, nameIgnoredParts } from '../../../http/read-fields.js';
import type { AppContext } from '../../context.js';
import { anthropicErrorSchema } from '../../shared/anthropic-error-schema.js';
import { anthropicRoute } from '../../shared/anthropic-errors.js';
import { parametersOf } from '../../shared/chat/chat-schema.js';
import { renderBody, renderChat } from '../../shared/chat/render-chat.js';
import { startCompletion } from '../../shared/chat/to-job.js';
import { CompletionEventEncoder } from '../../shared/completion/completion-event-encoder.js';
import { streamCompletion } from '../../shared/completion/stream-reply.js';
import { OwnFiles } from '../../shared/own-files.js';
import { withModel } from '../../shared/with-model.js';
import { messageEventSchema, messageReplySchema, type TokenCount, tokenCountSchema } from './reply-schema.js';
import { countTokensSchema, type MessagesRequest, messagesSchema } from './schema.js';
import { ABSENT_USAGE, MessageEvents, messageFailure, NOT_STOPPED } from './stream.js';
import { readTurn, type Turn } from './threads.js';
import { type MessagesTranslation, toChat } from './to-chat.js';
import { refuseHosted } from './tools.js';

const URL = '/v1/messages';
const COUNT_URL = '/v1/messages/count_tokens';

export function messagesRoutes(app: FastifyInstance, context: AppContext): void {
  const { profile, options } = context;
  const { bodyLimit, imageHosts } = options;
  const common = { bodyLimit, ...anthropicRoute(options) };
  const parameters = parametersOf(profile);
  const read = (body: MessagesRequest, earlier = 0): MessagesTranslation => {
    if (options.strict) refuseHosted(body);
    return toChat(body, earlier);
  };

  const complete = withModel<MessagesRequest>(
    context,
    async (request, reply, { engine, signal }) => {
      const { body, earlier, keep } = readTurn(request, context);
      const { body: chat, origins, ignored } = read(body, earlier);
      if (request.body.thread !== undefined && keep === null) ignored.push('thread');
      return origins.guard(chat, async () => {
        const translated = { body: chat, origins, passedOver: ignored };
        const contentOf = (id: string) => new OwnFiles(request, context).content(id);
        const how = { contentOf, hosts: imageHosts, signal, maxParts: MAX_IGNORED_PARTS };
        const { rendered, ignored: unenforced } = await renderChat(engine, translated, how);
        nameIgnoredParts(reply, unenforced);
        // The first event of a stream says how long the prompt is.
        const promptTokens = body.stream ? await engine.countTokens(rendered, { signal }) : 0;
        const streams = startCompletion(engine, profile, chat, rendered, { signal, whole: !body.stream });
        request.record.follow(engine.model.id, streams, { prompt: rendered.prompt });
        const { max_tokens: maxTokens, stop_sequences: stopSequences = [] } = body;
        const ended = keep === null ? undefined : storing(keep, request.log);
        const events = new MessageEvents({
          model: engine.model.id,
          requestId: request.id,
          promptTokens,
          maxTokens,
          stopSequences,
          ended,
        });
        const encoder = new CompletionEventEncoder(events, rendered.format !== null);
        if (!body.stream) {
          await encoder.collect(streams);
          return events.message;
        }
        const translate = (thrown: unknown) => origins.translate(thrown, chat);
        return streamCompletion(request, reply, { streams, encoder, signal, translate }, options);
      });
    },
    { fail: messageFailure },
  );
  const settings = { ...common, ...bodyRoute(context, messagesSchema(parameters), createMessage) };
  app.post<{ Body: MessagesRequest }>(URL, settings, complete);

  const count = withModel<MessagesRequest>(context, async (request, reply, { engine, signal }) => {
    const { body: chat, origins, ignored } = read(request.body);
    nameIgnoredParts(reply, ignored);
    return origins.guard(chat, async () => {
      const contentOf = (id: string) => new OwnFiles(request, context).content(id);
      const rendered = await renderBody(engine, chat, { contentOf, hosts: imageHosts, signal });
      return { input_tokens: await engine.countTokens(rendered, { signal }) } satisfies TokenCount;
    });
  });
  const countSettings = { ...common, ...bodyRoute(context, countTokensSchema(parameters), countTokens) };
  app.post<{ Body: MessagesRequest }>(COUNT_URL, countSettings, count);
}

/** A completion is worth more than its place in the store, so a failure is only logged. */
function storing(keep: NonNullable<Turn['keep']>, log: FastifyBaseLogger): NonNullable<Turn['keep']> {
  return (reply) => {
    try {
      keep(reply);
    } catch (error) {
      log.error({ err: error }, 'the turn of a thread could not be stored');
    }
  };
}

const messages = [{ role: 'user', content: 'Count from 3 to 6' }];

const base = { tag: 'Chat', errorBody: anthropicErrorSchema, errors: CONVERSATION_ERRORS } as const;

const createMessage: Operation = {
  ...base,
  id: 'createMessage',
  summary: "Chat completion in Anthropic's Messages API.",
  requestName: 'MessageRequest',
  errors: [...CONVERSATION_ERRORS, 'thread_not_found', 'store_failed'],
  reply: {
    json: { name: 'Message', schema: messageReplySchema },
    event: { name: 'MessageEvent', schema: messageEventSchema },
  },
  examples: (model) =>
    completionExamples(
      'A short completion',
      { model, messages, max_tokens: 32, temperature: 0 },
      {
        reply: {
          id: 'msg_4b1f6a52c7e94d0f8f3e6d9a7c5b2e10',
          type: 'message',
          role: 'assistant',
          model,
          content: [{ type: 'text', text: '3, 4, 5, 6' }],
          ...NOT_STOPPED,
          stop_reason: 'end_turn',
          diagnostics: null,
          usage: {
            ...ABSENT_USAGE,
            input_tokens: 20,
            cache_read_input_tokens: 0,
            output_tokens: 11,
            output_tokens_details: { thinking_tokens: 0 },
          },
        },
        event: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: '3' } },
      },
    ),
};

const countTokens: Operation = {
  ...base,
  id: 'countMessageTokens',
  summary: 'Number of prompt tokens of a message request.',
  requestName: 'TokenCountRequest',
  reply: { json: { name: 'TokenCount', schema: tokenCountSchema } },
  examples: (model) => ({
    count: { summary: 'A short prompt', request: { model, messages }, reply: { input_tokens: 20 } },
  }),
};
