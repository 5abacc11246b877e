/**
 * A responses request's way through the server: it becomes a chat body, and its completion a response. Nothing is
 * stored.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { unenforcedParts } from '../../chat/check-schema.js';
import { CompletionEventEncoder } from '../../chat/completion-event-encoder.js';
import { renderBody, startCompletion } from '../../chat/start-completion.js';
import { newResponse } from '../../responses/new-response.js';
import { refuseUnsupported } from '../../responses/refuse-unsupported.js';
import { ResponseEvents, responseFailure } from '../../responses/response-events.js';
import { toChat } from '../../responses/to-chat.js';
import type { InputTokens } from '../../schemas/response-object.js';
import { type ResponsesRequest, responsesParameters, responsesSchema } from '../../schemas/responses.js';
import type { AppContext } from '../context.js';
import { MAX_IGNORED_PARTS, nameIgnoredParts, readFields } from '../read-fields.js';
import { replyWithEvents } from '../reply-with-events.js';
import { withModel } from '../with-model.js';

const URL = '/v1/responses';
const COUNT_URL = '/v1/responses/input_tokens';

export function responsesRoutes(app: FastifyInstance, context: AppContext): void {
  const { profile, options } = context;
  const { bodyLimit, imageHosts } = options;
  const known = readFields(profile, options.strict, responsesParameters(profile.parameters));
  const preValidation = [known, nameMessages];
  const schema = { body: responsesSchema(profile.parameters) };

  const translate = (body: ResponsesRequest) => {
    refuseUnsupported(body);
    return toChat(body);
  };

  const respond = withModel<ResponsesRequest>(
    context,
    async (request, reply, { engine, signal }) => {
      const { body } = request;
      const { body: chat, origins } = translate(body);
      const events = new ResponseEvents(newResponse(body, engine.model.id, profile.sampling));
      return origins.guard(chat, async () => {
        const rendered = await renderBody(engine, chat, { hosts: imageHosts, signal });
        nameIgnoredParts(
          reply,
          unenforcedParts(chat, MAX_IGNORED_PARTS).map((part) => origins.nameOf(part)),
        );
        const started = startCompletion(engine, profile, chat, rendered, { signal, whole: !body.stream });
        const streams = request.record.follow(engine.model.id, started, { prompt: rendered.prompt });
        const encoder = new CompletionEventEncoder(events, rendered.format !== null);
        if (!body.stream) {
          await encoder.collect(streams);
          return events.response;
        }
        const translate = (thrown: unknown) => origins.translate(thrown, chat);
        return replyWithEvents(request, reply, { streams, encoder, signal, translate }, options);
      });
    },
    { fail: responseFailure },
  );
  app.post<{ Body: ResponsesRequest }>(URL, { schema, preValidation, bodyLimit }, respond);

  const count = withModel<ResponsesRequest>(context, async (request, _reply, { engine, signal }) => {
    const { body: chat, origins } = translate(request.body);
    return origins.guard(chat, async () => {
      const rendered = await renderBody(engine, chat, { hosts: imageHosts, signal });
      const input_tokens = await engine.countTokens(rendered, { signal });
      return { object: 'response.input_tokens', input_tokens } satisfies InputTokens;
    });
  });
  app.post<{ Body: ResponsesRequest }>(COUNT_URL, { schema, preValidation, bodyLimit }, count);
}

/** An input item without a `type` is a message; the schema tells items apart by it. */
async function nameMessages(request: FastifyRequest): Promise<void> {
  const { input } = (request.body ?? {}) as { input?: unknown };
  if (!Array.isArray(input)) return;
  for (const item of input) {
    if (typeof item === 'object' && item !== null && item.type === undefined && 'role' in item) item.type = 'message';
  }
}
