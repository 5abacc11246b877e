/** Routes of batches. Each batch is visible only to the API key that created it. */
import { randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ChasquiError, invalidValue, unsupportedParameter } from '../../../errors.js';
import type { Operation } from '../../../http/openapi/operation.js';
import { bodyRoute } from '../../../http/read-fields.js';
import type { AppContext } from '../../context.js';
import { type BatchObject, batchSchema, type StoredBatch } from '../../shared/batch-schema.js';
import { byTime } from '../../shared/own-files.js';
import { ownerOf } from '../../shared/owner.js';
import { toPage } from '../../shared/page.js';
import { type BatchOwner, BatchQueue, missingFile, now } from './batch-queue.js';
import { type BatchList, batchListSchema, type NewBatch, newBatchSchema } from './schema.js';

const URL = '/v1/batches';
const ONE = `${URL}/:id`;
const ID_PREFIX = 'batch_';
const MAX_WINDOW_S = 14 * 24 * 60 * 60;
const ENDED: readonly BatchObject['status'][] = ['completed', 'failed', 'expired', 'cancelled'];

type ById = FastifyRequest<{ Params: { id: string } }>;
type ByQuery = FastifyRequest<{ Querystring: Record<string, unknown> }>;

export function batchesRoutes(app: FastifyInstance, context: AppContext): void {
  const queue = new BatchQueue(app, context);
  // Batches end at the signal `stopping`. Their store is closed after this hook.
  app.addHook('preClose', () => queue.close());

  /** A batch of an earlier process continues here, because the server does not store the key that its requests need. */
  const currentOf = (owner: BatchOwner, { batch, parts }: StoredBatch): BatchObject => {
    const current = queue.get(batch.id);
    if (current !== null) return current;
    if (!ENDED.includes(batch.status)) queue.add(owner, batch, parts);
    return queue.get(batch.id) ?? batch;
  };
  const find = (owner: BatchOwner, id: string): BatchObject => {
    const found = owner.store.read(owner.id, id);
    if (found === null || !('batch' in found)) throw notFound(id);
    return currentOf(owner, found);
  };

  app.post<{ Body: NewBatch }>(URL, bodyRoute(context, newBatchSchema, createBatch), async (request) => {
    const owner = batchOwner(request, context);
    const batch = newBatch(request.body);
    const file = owner.store.read(owner.id, batch.input_file_id);
    if (file === null || !('file' in file)) throw missingFile(batch.input_file_id);
    queue.add(owner, batch);
    return batch satisfies BatchObject;
  });

  app.get(URL, { config: { operation: listBatches } }, async (request: ByQuery) => {
    const owner = batchOwner(request, context);
    const stored = owner.store.list(owner.id, ID_PREFIX).filter((each): each is StoredBatch => 'batch' in each);
    const batches = stored.map((each) => currentOf(owner, each)).sort(byTime);
    return toPage(batches, request.query, { limit: 100, length: 20 }) satisfies BatchList;
  });

  app.get(ONE, { config: { operation: retrieveBatch } }, async (request: ById) =>
    find(batchOwner(request, context), request.params.id),
  );

  app.post(`${ONE}/cancel`, { config: { operation: cancelBatch } }, async (request: ById) => {
    const owner = batchOwner(request, context);
    const { id, status } = find(owner, request.params.id);
    if (ENDED.includes(status) && status !== 'cancelled') {
      throw invalidValue(`The batch \`${id}\` has ended already: it is ${status}.`, 'id');
    }
    queue.cancel(id);
    return find(owner, id);
  });
}

/** Throws `unsupported_parameter` if the server does not run batches. */
function batchOwner(request: FastifyRequest, { responses, isBehindGateway }: AppContext): BatchOwner {
  const id = ownerOf(request, isBehindGateway);
  // The gateway does not see the requests of a batch: it would stop the idle runner, and not count the tokens.
  if (responses === null || isBehindGateway || id === null) {
    throw unsupportedParameter('This server does not run batches: send the requests one by one.', null);
  }
  const { authorization, 'x-api-key': key } = request.headers;
  const headers = { ...(authorization && { authorization }), ...(key && { 'x-api-key': key }) };
  return { id, store: responses, caller: { headers, ...(request.apiKey && { apiKey: request.apiKey }) } };
}

function newBatch({ input_file_id, endpoint, completion_window = '24h', metadata }: NewBatch): BatchObject {
  const created_at = now();
  return {
    id: `${ID_PREFIX}${randomBytes(16).toString('hex')}`,
    object: 'batch',
    endpoint,
    errors: null,
    input_file_id,
    completion_window,
    status: 'validating',
    output_file_id: null,
    error_file_id: null,
    created_at,
    in_progress_at: null,
    expires_at: created_at + secondsOf(completion_window),
    finalizing_at: null,
    completed_at: null,
    failed_at: null,
    expired_at: null,
    cancelling_at: null,
    cancelled_at: null,
    request_counts: { total: 0, completed: 0, failed: 0 },
    metadata: metadata ?? null,
    usage: null,
  };
}

const SECONDS: Readonly<Record<string, number>> = { m: 60, h: 60 * 60, d: 24 * 60 * 60 };

/** Throws `invalid_value`. */
function secondsOf(window: string): number {
  const seconds = Number(window.slice(0, -1)) * (SECONDS[window.slice(-1)] ?? 0);
  if (seconds <= MAX_WINDOW_S) return seconds;
  throw invalidValue('`completion_window` must be at most `14d`.', 'completion_window');
}

function notFound(id: string): ChasquiError {
  const message = `There is no batch \`${id.slice(0, 100)}\`. It was never created, was evicted, or belongs to another key.`;
  return new ChasquiError('response_not_found', message, 'id');
}

const PARAMETERS = { id: 'The id of the batch.' };
const ERRORS = ['response_not_found', 'unsupported_parameter', 'queue_full', 'store_failed'] as const;
const FILE_ID = 'file-4b1f6a52c7e94d0f8f3e6d9a7c5b2e10';

function exampleBatch(): BatchObject {
  const batch = newBatch({ input_file_id: FILE_ID, endpoint: '/v1/chat/completions', metadata: { topic: 'numbers' } });
  const id = 'batch_4b1f6a52c7e94d0f8f3e6d9a7c5b2e10';
  return { ...batch, id, created_at: 1_790_000_000, expires_at: 1_790_086_400 };
}

const reply = { json: { name: 'Batch', schema: batchSchema } };
const base = { tag: 'Chat', parameters: PARAMETERS, errors: ERRORS, reply } as const;

const createBatch: Operation = {
  ...base,
  id: 'createBatch',
  summary: 'Runs the requests of an uploaded file at the lowest priority.',
  errors: [...ERRORS, 'invalid_value'],
  examples: () => ({
    created: {
      summary: 'Chats of an uploaded file',
      request: { input_file_id: FILE_ID, endpoint: '/v1/chat/completions', metadata: { topic: 'numbers' } },
      reply: exampleBatch(),
    },
  }),
};

const listBatches: Operation = {
  id: 'listBatches',
  tag: 'Chat',
  summary: 'Batches and their states.',
  description:
    'In the query: `order` (`desc` is the default, or `asc`), `limit` (1 to 100, default 20) and `after` (an id).',
  errors: [...ERRORS, 'invalid_value'],
  reply: { json: { name: 'BatchList', schema: batchListSchema } },
};

const retrieveBatch: Operation = {
  ...base,
  id: 'retrieveBatch',
  summary: 'State of a batch.',
};

const cancelBatch: Operation = {
  ...base,
  id: 'cancelBatch',
  summary: 'Cancels a batch; finished requests keep their results.',
  errors: [...ERRORS, 'invalid_value'],
};
