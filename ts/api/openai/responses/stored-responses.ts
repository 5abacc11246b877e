/** Routes of stored responses. Each response is visible only to the API key that created it. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type ChasquiError, invalidValue, unsupportedParameter } from '../../../errors.js';
import { CONVERSATION_ERRORS } from '../../../http/openapi/failures.js';
import type { Operation } from '../../../http/openapi/operation.js';
import { NEUTRAL_SAMPLING } from '../../../options/sampling-table.js';
import type { AppContext } from '../../context.js';
import { streamStoredEvents } from '../../shared/completion/stream-reply.js';
import { wrongQuery } from '../../shared/page.js';
import { responseEventSchema } from './event-schema.js';
import { PAGE_QUERY, toItemPage } from './item-page.js';
import { newResponse } from './new-response.js';
import {
  type DeletedResponse,
  deletedResponseSchema,
  inputItemListSchema,
  type ResponseObject,
  responseSchema,
} from './object-schema.js';
import type { OwnResponses } from './own-responses.js';
import { chainOf } from './resolve-input.js';
import { responseFailure, responseFraming } from './response-events.js';

type ById = FastifyRequest<{ Params: { id: string }; Querystring: Record<string, unknown> }>;

export function storedResponsesRoutes(
  app: FastifyInstance,
  { running, options }: AppContext,
  ownOf: (request: Pick<FastifyRequest, 'headers'>) => OwnResponses,
): void {
  app.get('/v1/responses/:id', { config: { operation: retrieveResponse } }, async (request: ById, reply) => {
    const own = ownOf(request);
    const { id } = request.params;
    if (request.query.stream !== 'true') return own.get(id).response satisfies ResponseObject;
    const number = firstEventOf(request.query);
    const log = own.events(id);
    if (log === null) throw noEvents();
    const signal = running.signalFor(reply.raw);
    const events = { batches: log.from(number, signal), fail: responseFailure, signal, framing: responseFraming };
    return streamStoredEvents(request, reply, events, options);
  });

  app.delete('/v1/responses/:id', { config: { operation: deleteResponse } }, async (request: ById) => {
    const { id } = request.params;
    await ownOf(request).delete(id);
    return { id, object: 'response', deleted: true } satisfies DeletedResponse;
  });

  app.get('/v1/responses/:id/input_items', { config: { operation: listInputItems } }, async (request: ById) => {
    const own = ownOf(request);
    const { input, response } = own.get(request.params.id);
    const { previous_response_id: previous } = response;
    const earlier = previous === null || own.store === null ? [] : chainOf(previous, own.store);
    const items = [...earlier.flatMap((each) => [...each.input, ...each.response.output]), ...input];
    return toItemPage(items, request.query);
  });

  app.post('/v1/responses/:id/cancel', { config: { operation: cancelResponse } }, async (request: ById) => {
    const own = ownOf(request);
    const { id } = request.params;
    if (!own.get(id).response.background) {
      const message = `The response \`${id.slice(0, 100)}\` does not run in the background. Only background responses can be cancelled.`;
      throw invalidValue(message, 'id');
    }
    return own.cancel(id);
  });
}

function firstEventOf({ starting_after: after }: Record<string, unknown>): number {
  if (after === undefined) return 0;
  if (!/^\d{1,9}$/.test(String(after))) throw wrongQuery('starting_after', 'the number of an event');
  return Number(after) + 1;
}

function noEvents(): ChasquiError {
  const message =
    'Events are stored only with both `background` and `stream`, for ten minutes after the end. Send the request without `stream`.';
  return unsupportedParameter(message, 'stream');
}

/** Errors of requests that may continue stored responses. */
export const STORED_ERRORS = [
  ...CONVERSATION_ERRORS,
  'response_not_found',
  'previous_response_not_found',
  'store_failed',
] as const;

const PARAMETERS = { id: 'The id of the response.' };
const ERRORS = ['response_not_found', 'unsupported_parameter', 'store_failed'] as const;
export const EXAMPLE_ID = 'resp_4b1f6a52c7e94d0f8f3e6d9a7c5b2e10';

export function exampleResponse(model: string): ResponseObject {
  const content = [{ type: 'output_text' as const, text: '3, 4, 5, 6', annotations: [], logprobs: [] }];
  const id = 'msg_0c8d1b7e5f2a4e6b9d3c7a1f8e5b2d40';
  return {
    ...newResponse({ model, input: '', temperature: 0 }, model, NEUTRAL_SAMPLING, true),
    id: EXAMPLE_ID,
    created_at: 1_790_000_000,
    completed_at: 1_790_000_001,
    status: 'completed',
    output: [{ type: 'message', id, status: 'completed', role: 'assistant', content }],
    usage: {
      input_tokens: 20,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: 11,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 31,
    },
  };
}

const base = { tag: 'Chat', parameters: PARAMETERS, errors: ERRORS } as const;

const retrieveResponse: Operation = {
  ...base,
  id: 'retrieveResponse',
  summary: 'A stored response.',
  description:
    'Responses are stored for up to 30 days, unless `store` is false. Newer ones may evict them. Only requests with the same key can read them. ' +
    '`?stream=true` returns the events of a response with `background` and `stream`: all, or those after number `starting_after`.',
  errors: [...ERRORS, 'invalid_value'],
  reply: {
    json: { name: 'Response', schema: responseSchema },
    event: { name: 'ResponseEvent', schema: responseEventSchema },
  },
  examples: (model) => ({ stored: { summary: 'A stored response', reply: exampleResponse(model) } }),
};

const deleteResponse: Operation = {
  ...base,
  id: 'deleteResponse',
  summary: 'Deletes a stored response; responses that continue it can no longer be continued.',
  reply: { json: { name: 'DeletedResponse', schema: deletedResponseSchema } },
  examples: () => ({
    deleted: { summary: 'A deleted response', reply: { id: EXAMPLE_ID, object: 'response', deleted: true } },
  }),
};

const listInputItems: Operation = {
  ...base,
  id: 'listInputItems',
  summary: 'Input of a stored response, including all earlier items.',
  description: PAGE_QUERY,
  errors: [...ERRORS, 'previous_response_not_found', 'invalid_value'],
  reply: { json: { name: 'InputItemList', schema: inputItemListSchema } },
  examples: () => {
    const id = 'msg_7f3c9a1e5b2d4c6f8a0e1d3b5c7f9a20';
    const data = [
      {
        type: 'message',
        status: 'completed',
        role: 'user',
        content: [{ type: 'input_text', text: 'Count from 3 to 6' }],
        id,
      },
    ];
    const reply = { object: 'list', data, first_id: id, last_id: id, has_more: false };
    return { items: { summary: 'The only item', reply } };
  },
};

const cancelResponse: Operation = {
  ...base,
  id: 'cancelResponse',
  summary: 'Cancels a background response.',
  errors: [...ERRORS, 'invalid_value'],
  reply: { json: { name: 'Response', schema: responseSchema } },
};
