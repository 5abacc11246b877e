/** A chat request's way through the server, from valid body to reply. */
import type { FastifyInstance } from 'fastify';
import { unenforcedParts } from '../../chat/check-schema.js';
import { newCompletionHead } from '../../chat/completion-head.js';
import { nameFailedImage } from '../../chat/message-images.js';
import { renderBody, startCompletion } from '../../chat/start-completion.js';
import { ChunkEncoder } from '../../chat/to-chunks.js';
import { toCompletion } from '../../chat/to-completion.js';
import { type ChatCompletionRequest, chatCompletionSchema } from '../../schemas/chat-completion.js';
import { chatCompletionReplySchema } from '../../schemas/chat-response.js';
import type { AppContext } from '../context.js';
import { MAX_IGNORED_PARTS, nameIgnoredParts, readFields } from '../read-fields.js';
import { replyWithEvents } from '../reply-with-events.js';
import { dataEvents, dataFailure } from '../sse.js';
import { withModel } from '../with-model.js';

const URL = '/v1/chat/completions';

export function chatCompletionsRoute(app: FastifyInstance, context: AppContext): void {
  const { profile, options } = context;
  const { bodyLimit, imageHosts } = options;
  const schema = { body: chatCompletionSchema(profile.parameters), response: { 200: chatCompletionReplySchema } };
  const preValidation = readFields(profile, options.strict);

  const complete = withModel<ChatCompletionRequest>(
    context,
    async (request, reply, { engine, signal }) => {
      const { body } = request;
      const rendered = await renderBody(engine, body, { hosts: imageHosts, signal });
      nameIgnoredParts(reply, unenforcedParts(body, MAX_IGNORED_PARTS));
      const started = startCompletion(engine, profile, body, rendered, { signal, whole: !body.stream });
      const streams = request.record.follow(engine.model.id, started, { prompt: rendered.prompt });
      const parsed = rendered.format !== null;
      const head = newCompletionHead(engine.model.id);
      const { logprobs, timings } = body;
      const translate = (thrown: unknown) => nameFailedImage(thrown, body.messages);
      try {
        if (!body.stream) return await toCompletion(head, streams, { parsed, logprobs, timings });

        const includeUsage = body.stream_options?.include_usage ?? false;
        const chunks = new ChunkEncoder(head, { includeUsage, choices: streams.length, parsed, timings });
        const encoder = dataEvents(chunks);
        return await replyWithEvents(request, reply, { streams, encoder, signal, translate }, options);
      } catch (thrown) {
        throw translate(thrown);
      }
    },
    { fail: dataFailure },
  );
  app.post<{ Body: ChatCompletionRequest }>(URL, { schema, preValidation, bodyLimit }, complete);
}
