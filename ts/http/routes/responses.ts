/**
 * A responses request's way through the server: it becomes a chat body, and its completion a response. Nothing is
 * stored.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { unenforcedParts } from '../../chat/check-schema.js';
import { CompletionEventEncoder } from '../../chat/completion-event-encoder.js';
import { renderBody, startCompletion } from '../../chat/start-completion.js';
import { NEUTRAL_SAMPLING } from '../../engine/job.js';
import { newResponse } from '../../responses/new-response.js';
import { refuseUnsupported } from '../../responses/refuse-unsupported.js';
import { ResponseEvents, responseFailure } from '../../responses/response-events.js';
import { toChat } from '../../responses/to-chat.js';
import { responseEventSchema } from '../../schemas/response-event.js';
import { type InputTokens, inputTokensSchema, responseSchema } from '../../schemas/response-object.js';
import { type ResponsesRequest, responsesSchema } from '../../schemas/responses.js';
import { bodyRoute } from '../body-route.js';
import type { AppContext } from '../context.js';
import { CONVERSATION_ERRORS } from '../openapi/failures.js';
import { completionExamples, type Operation } from '../openapi/operation.js';
import { MAX_IGNORED_PARTS, nameIgnoredParts } from '../read-fields.js';
import { replyWithEvents } from '../reply-with-events.js';
import { withModel } from '../with-model.js';

const URL = '/v1/responses';
const COUNT_URL = '/v1/responses/input_tokens';

export function responsesRoutes(app: FastifyInstance, context: AppContext): void {
  const { profile, options } = context;
  const { bodyLimit, imageHosts } = options;
  const settingsOf = (operation: Operation) => {
    const settings = bodyRoute(context, responsesSchema(profile.parameters), operation);
    return { ...settings, preValidation: [settings.preValidation, nameMessages], bodyLimit };
  };

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
  app.post<{ Body: ResponsesRequest }>(URL, settingsOf(createResponse), respond);

  const count = withModel<ResponsesRequest>(context, async (request, _reply, { engine, signal }) => {
    const { body: chat, origins } = translate(request.body);
    return origins.guard(chat, async () => {
      const rendered = await renderBody(engine, chat, { hosts: imageHosts, signal });
      const input_tokens = await engine.countTokens(rendered, { signal });
      return { object: 'response.input_tokens', input_tokens } satisfies InputTokens;
    });
  });
  app.post<{ Body: ResponsesRequest }>(COUNT_URL, settingsOf(countInputTokens), count);
}

/** An input item without a `type` is a message; the schema tells items apart by it. */
async function nameMessages(request: FastifyRequest): Promise<void> {
  const { input } = (request.body ?? {}) as { input?: unknown };
  if (!Array.isArray(input)) return;
  for (const item of input) {
    if (typeof item === 'object' && item !== null && item.type === undefined && 'role' in item) item.type = 'message';
  }
}

const createResponse: Operation = {
  id: 'createResponse',
  tag: 'Chat',
  summary: "The same in the words of OpenAI's Responses API, without storage.",
  requestName: 'ResponseRequest',
  errors: CONVERSATION_ERRORS,
  reply: {
    json: { name: 'Response', schema: responseSchema },
    event: { name: 'ResponseEvent', schema: responseEventSchema },
  },
  examples: (model) => {
    const request = { model, input: 'Count from 3 to 6', temperature: 0 };
    const id = 'msg_0c8d1b7e5f2a4e6b9d3c7a1f8e5b2d40';
    const content = [{ type: 'output_text', text: '3, 4, 5, 6', annotations: [], logprobs: [] }];
    const reply = {
      ...newResponse(request, model, NEUTRAL_SAMPLING),
      id: 'resp_4b1f6a52c7e94d0f8f3e6d9a7c5b2e10',
      created_at: 1_790_000_000,
      completed_at: 1_790_000_001,
      status: 'completed',
      output: [{ type: 'message', id, status: 'completed', role: 'assistant', content }],
      usage: {
        input_tokens: 20,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens: 11,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 31,
      },
    };
    const event = {
      type: 'response.output_text.delta',
      sequence_number: 4,
      item_id: id,
      output_index: 0,
      content_index: 0,
      delta: '3',
      logprobs: [],
    };
    return completionExamples('A short completion', request, { reply, event });
  },
};

const countInputTokens: Operation = {
  id: 'countInputTokens',
  tag: 'Chat',
  summary: 'How many tokens the prompt of such a request has.',
  requestName: 'InputTokensRequest',
  errors: CONVERSATION_ERRORS,
  reply: { json: { name: 'InputTokens', schema: inputTokensSchema } },
  examples: (model) => ({
    count: {
      summary: 'A short prompt',
      request: { model, input: 'Count from 3 to 6' },
      reply: { object: 'response.input_tokens', input_tokens: 20 },
    },
  }),
};
