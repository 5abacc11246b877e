/**
 * `POST /v1/responses/compact`: replaces a conversation by its user messages and a summary, which the model writes in a response
 * that is not stored.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ChasquiError } from '../../../errors.js';
import type { Operation } from '../../../http/openapi/operation.js';
import { bodyRoute, nameIgnoredParts } from '../../../http/read-fields.js';
import * as s from '../../../http/schema/json-schema.js';
import type { AppContext } from '../../context.js';
import { model } from '../../shared/chat/chat-schema.js';
import { withModel } from '../../shared/with-model.js';
import { type CompactionItem, toCompactionItem } from './compaction-item.js';
import type { InputItem, StoredItem } from './input-schema.js';
import { nameItems } from './item-page.js';
import { type OutputItem, type ResponseObject, type ResponseUsage, usageSchema } from './object-schema.js';
import { type SourcedItem, toItems, toStoredItem } from './resolve-input.js';
import { type ResponsesRequest, responseFields } from './schema.js';
import { EXAMPLE_ID, exampleResponse, STORED_ERRORS } from './stored-responses.js';
import { ResponseEncoder } from './stream.js';
import type { ResponseWork } from './to-job.js';

const URL = '/v1/responses/compact';
const MAX_SUMMARY_TOKENS = 2048;
const SUMMARY_REQUEST =
  'Summarize the conversation so far for an assistant that continues it without seeing it. State the goals and instructions ' +
  'of the user, decisions, facts, names, file paths and results that matter, what has been done, and what remains to be ' +
  'done. Reply with the summary only.';

const { input, instructions, previous_response_id, prompt_cache_key } = responseFields;
const required = { model };
const optional = { input, instructions, previous_response_id, prompt_cache_key };
const compactSchema = s.objectOf(required, optional);

type CompactRequest = s.StaticFields<typeof required, typeof optional>;

const compactionSchema = s.objectOf({
  id: s.string,
  object: s.exactly('response.compaction'),
  /** Unix seconds. */
  created_at: s.integer,
  /** The user messages and the compaction item: the input of the next response. */
  output: s.arrayOf(
    s.anyOf(
      s.objectOf({ type: s.exactly('compaction'), id: s.string, encrypted_content: s.string }),
      s.typed<StoredItem | CompactionItem>({ type: 'object', required: ['type', 'id', 'status', 'role', 'content'] }),
    ),
  ),
  usage: usageSchema,
});

type Compaction = s.Static<typeof compactionSchema>;

type Request = FastifyRequest<{ Body: ResponsesRequest }>;

export function compactRoute(
  app: FastifyInstance,
  context: AppContext,
  workOf: (request: Request) => ResponseWork,
): void {
  const compact = withModel<ResponsesRequest>(context, async (request, reply, leased) => {
    const work = workOf(request);
    return work.guard(async () => {
      const { streams, parsed, ignored } = await work.start(leased, Math.floor(leased.engine.model.contextLength / 4));
      nameIgnoredParts(reply, ignored);
      const events = work.eventsFor(leased.engine.model.id);
      await new ResponseEncoder(events, parsed, streams, request.body).collect(streams);
      return toCompaction(events.response, work.items.slice(0, -1));
    });
  });
  const { preValidation, preHandler, ...settings } = bodyRoute(context, compactSchema, compactResponse);
  app.post<{ Body: ResponsesRequest }>(
    URL,
    {
      ...settings,
      bodyLimit: context.options.bodyLimit,
      preValidation: [preValidation, nameItems('input')],
      preHandler: [
        preHandler,
        async (request) => {
          request.body = toSummaryRequest(request.body as CompactRequest);
        },
      ],
    },
    compact,
  );
}

function toSummaryRequest(body: CompactRequest): ResponsesRequest {
  const { input = [], previous_response_id: previous } = body;
  if (input.length === 0 && previous === undefined) {
    const message = '`input` or `previous_response_id` is required: there is nothing to summarize.';
    throw new ChasquiError('missing_required_parameter', message, 'input');
  }
  const request: InputItem = { type: 'message', role: 'user', content: SUMMARY_REQUEST };
  return {
    ...body,
    input: [...toItems(input), request],
    max_output_tokens: MAX_SUMMARY_TOKENS,
    truncation: 'auto',
    store: false,
  };
}

function toCompaction({ id, created_at, output, usage }: ResponseObject, items: readonly SourcedItem[]): Compaction {
  const said = items.flatMap(({ item }) => (item.type === 'message' && item.role === 'user' ? toStoredItem(item) : []));
  return {
    id,
    object: 'response.compaction',
    created_at,
    output: [...said, toCompactionItem(textOf(output))],
    usage: usage as ResponseUsage,
  };
}

/** The text of a completion, or its reasoning if the text is empty after `MAX_SUMMARY_TOKENS`. */
function textOf(output: readonly OutputItem[]): string {
  const texts = { message: '', reasoning: '' };
  for (const item of output) {
    if (item.type === 'message' || item.type === 'reasoning') {
      texts[item.type] += item.content.map(({ text }) => text).join('');
    }
  }
  return texts.message || texts.reasoning;
}

const compactResponse: Operation = {
  id: 'compactResponse',
  tag: 'Chat',
  summary: 'Replaces a conversation by its user messages and a summary that the model writes.',
  description: 'Send the items of `output` as the first items of `input` to continue the conversation.',
  requestName: 'CompactRequest',
  errors: STORED_ERRORS,
  reply: { json: { name: 'Compaction', schema: compactionSchema } },
  examples: (model) => {
    const text = 'Count from 3 to 6';
    const id = 'msg_7f3c9a1e5b2d4c6f8a0e1d3b5c7f9a20';
    const content = [{ type: 'input_text', text }];
    const message = { type: 'message', id, status: 'completed', role: 'user', content };
    const { usage } = exampleResponse(model);
    const output = [message, { ...toCompactionItem('The user counts.'), id: 'cmp_0c8d1b7e5f2a4e6b9d3c7a1f8e5b2d40' }];
    const reply = { id: EXAMPLE_ID, object: 'response.compaction', created_at: 1_790_000_000, output, usage };
    return { short: { summary: 'A short conversation', request: { model, input: text }, reply } };
  },
};
