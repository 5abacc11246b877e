/** A chat request's way through the server, from valid body to answer. */
import type { FastifyInstance } from 'fastify';
import { openParsers, submitChoices } from '../../chat/choices.js';
import { newCompletionHead } from '../../chat/completion-head.js';
import { loadMessageImages, nameImageAtFault } from '../../chat/message-images.js';
import { refuseUnsupported } from '../../chat/refuse-unsupported.js';
import { toRenderOptions } from '../../chat/render-options.js';
import { refuseImages, renderPrompt } from '../../chat/render-prompt.js';
import { ChunkEncoder } from '../../chat/to-chunks.js';
import { toCompletion } from '../../chat/to-completion.js';
import { toJob } from '../../chat/to-job.js';
import { type ChatCompletionRequest, chatCompletionSchema } from '../../schemas/chat-completion.js';
import { chatCompletionReplySchema } from '../../schemas/chat-response.js';
import type { AppContext } from '../app.js';
import { toChasquiError } from '../error-handler.js';
import { unknownModel } from '../model-name.js';
import { refuseOtherMethods } from '../not-found.js';
import { readFields } from '../read-fields.js';
import { sendChunks } from '../sse.js';

const URL = '/v1/chat/completions';

export function chatCompletionsRoute(app: FastifyInstance, context: AppContext): void {
  const { engine, profile, options, running } = context;
  const { keepAliveMs, stallTimeoutMs, imageHosts, onFault } = options;
  const schema = { body: chatCompletionSchema(profile.parameters), response: { 200: chatCompletionReplySchema } };
  const preValidation = readFields(profile, options.strict);

  app.post<{ Body: ChatCompletionRequest }>(URL, { schema, preValidation }, async (request, reply) => {
    const { body } = request;
    if (profile.checksModelName && body.model !== engine.model.id) {
      throw unknownModel(body.model, engine.model, 'model');
    }
    refuseUnsupported(body, engine.model);
    const renderOptions = toRenderOptions(body, engine.model);
    refuseImages(engine.model, body.messages);

    const signal = running.signalFor(reply.raw);
    const images = await loadMessageImages(body.messages, { hosts: imageHosts, signal });
    const rendered = await renderPrompt(engine, body.messages, images, renderOptions);
    const n = body.n ?? 1;
    const parsers = openParsers(engine, rendered, n);
    const streams = submitChoices(engine, toJob(body, rendered, profile), n, signal);
    const head = newCompletionHead(engine.model.id);
    const { logprobs, timings } = body;
    try {
      if (!body.stream) return await toCompletion(head, streams, { parsers, logprobs, timings });

      const includeUsage = body.stream_options?.include_usage ?? false;
      const chunks = new ChunkEncoder(head, { includeUsage, choices: n, parsers, timings });
      const toError = (thrown: unknown) => toChasquiError(thrown, request, onFault);
      await sendChunks(reply, streams, chunks, { signal, keepAliveMs, stallTimeoutMs, toError });
      return reply;
    } catch (thrown) {
      throw nameImageAtFault(thrown, body.messages);
    }
  });
  refuseOtherMethods(app, URL, ['POST']);
}
