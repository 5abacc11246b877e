/** Handles a responses request: converts it to a chat body, and its completion to a response, which is stored. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { completionExamples, type Operation } from '../../../http/openapi/operation.js';
import { bodyRoute, nameIgnoredParts } from '../../../http/read-fields.js';
import { shuttingDown } from '../../../http/running-replies.js';
import type { AppContext } from '../../context.js';
import { parametersOf } from '../../shared/chat/chat-schema.js';
import { renderBody } from '../../shared/chat/render-chat.js';
import { type InputTokens, inputTokensSchema } from '../../shared/completion/chat-reply-schema.js';
import { streamCompletion, streamEvents, streamStoredEvents } from '../../shared/completion/stream-reply.js';
import type { Caller } from '../../shared/owner.js';
import { withModel } from '../../shared/with-model.js';
import { BackgroundResponses } from './background-responses.js';
import { compactRoute } from './compact-response.js';
import { computeLater } from './compute-later.js';
import { conversationsRoutes } from './conversation-routes.js';
import { responseEventSchema } from './event-schema.js';
import { nameItems } from './item-page.js';
import { runMcpLoop } from './mcp/mcp-loop.js';
import { type ResponseObject, responseSchema } from './object-schema.js';
import { OwnResponses } from './own-responses.js';
import { responseFailure, responseFraming } from './response-events.js';
import { type ResponsesRequest, responsesSchema } from './schema.js';
import { exampleResponse, STORED_ERRORS, storedResponsesRoutes } from './stored-responses.js';
import { ResponseEncoder } from './stream.js';
import { ResponseWork } from './to-job.js';

const URL = '/v1/responses';
const COUNT_URL = '/v1/responses/input_tokens';

type Request = FastifyRequest<{ Body: ResponsesRequest }>;

export function responsesRoutes(app: FastifyInstance, context: AppContext): void {
  const { profile, options } = context;
  const { bodyLimit, imageHosts } = options;
  const { running } = context;
  const background = new BackgroundResponses();
  app.addHook('preClose', () => background.close(shuttingDown()));
  const ownOf = (request: Caller) => new OwnResponses(request, context, background);
  const workOf = (request: Request) => new ResponseWork(request, ownOf(request), context);
  const settingsOf = (operation: Operation) => {
    const settings = bodyRoute(context, responsesSchema(parametersOf(profile)), operation);
    return { ...settings, preValidation: [settings.preValidation, nameItems('input')], bodyLimit };
  };

  const respond = withModel<ResponsesRequest>(
    context,
    async (request, reply, leased) => {
      const work = workOf(request);
      const { model } = leased.engine;
      const events = work.eventsFor(model.id, { ...profile.sampling, ...model.sampling });
      const streamed = { signal: leased.signal, translate: work.translate, framing: responseFraming };
      return work.guard(async () => {
        if (work.usesServers()) {
          nameIgnoredParts(reply, work.passedOver);
          if (!request.body.stream) {
            await runMcpLoop(work, events, leased, () => {});
            return events.response;
          }
          const settings = { ...streamed, fail: events.fail.bind(events) };
          return streamEvents(request, reply, settings, options, (stream) =>
            runMcpLoop(work, events, leased, (batch) => (stream.write(batch) ? undefined : stream.drained())),
          );
        }
        const { streams, parsed, ignored } = await work.start(leased);
        nameIgnoredParts(reply, ignored);
        const encoder = new ResponseEncoder(events, parsed, streams, request.body);
        if (!request.body.stream) {
          await encoder.collect(streams);
          return events.response;
        }
        return streamCompletion(request, reply, { ...streamed, streams, encoder }, options);
      });
    },
    { fail: responseFailure, framing: responseFraming },
  );

  const respondLater = async (request: Request, reply: FastifyReply): Promise<ResponseObject | undefined> => {
    const work = workOf(request);
    nameIgnoredParts(reply, work.passedOver);
    const { queued, events } = computeLater(work, background, context);
    if (events === null) return queued;
    const signal = running.signalFor(reply.raw);
    const kept = { batches: events.from(0, signal), fail: responseFailure, signal, framing: responseFraming };
    await streamStoredEvents(request, reply, kept, options);
    return undefined;
  };
  app.post<{ Body: ResponsesRequest }>(URL, settingsOf(createResponse), async (request, reply) =>
    request.body.background ? respondLater(request, reply) : respond(request, reply),
  );

  const count = withModel<ResponsesRequest>(context, async (request, reply, { engine, signal }) => {
    const work = workOf(request);
    nameIgnoredParts(reply, work.passedOver);
    return work.guard(async () => {
      await work.listTools(signal);
      const rendered = await renderBody(engine, work.chat, { contentOf: work.contentOf, hosts: imageHosts, signal });
      const input_tokens = await engine.countTokens(rendered, { signal });
      return { object: 'response.input_tokens', input_tokens } satisfies InputTokens;
    });
  });
  app.post<{ Body: ResponsesRequest }>(COUNT_URL, settingsOf(countInputTokens), count);
  compactRoute(app, context, workOf);
  storedResponsesRoutes(app, context, ownOf);
  conversationsRoutes(app, context, ownOf);
}

const createResponse: Operation = {
  id: 'createResponse',
  tag: 'Chat',
  summary: "Chat completion in OpenAI's Responses API.",
  description:
    'Local modes also have a WebSocket at this path. Each message is a `response.create` event: this body with a `type`. ' +
    'The events of the response are messages.',
  requestName: 'ResponseRequest',
  errors: STORED_ERRORS,
  reply: {
    json: { name: 'Response', schema: responseSchema },
    event: { name: 'ResponseEvent', schema: responseEventSchema },
  },
  examples: (model) => {
    const request = { model, input: 'Count from 3 to 6', temperature: 0 };
    const reply = exampleResponse(model);
    const event = {
      type: 'response.output_text.delta',
      sequence_number: 4,
      item_id: reply.output[0]?.id,
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
  summary: 'Number of prompt tokens of a response request.',
  requestName: 'InputTokensRequest',
  errors: STORED_ERRORS,
  reply: { json: { name: 'InputTokens', schema: inputTokensSchema } },
  examples: (model) => ({
    count: {
      summary: 'A short prompt',
      request: { model, input: 'Count from 3 to 6' },
      reply: { object: 'response.input_tokens', input_tokens: 20 },
    },
  }),
};
