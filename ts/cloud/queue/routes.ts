/** `/queue/<org>/<app>/…`: submits requests and returns their state, with the paths and fields of fal's queue. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { BATCH_ENDPOINTS } from '../../api/shared/batch-schema.js';
import { MAX_PRIORITY } from '../../api/shared/chat/chat-schema.js';
import { ChasquiError, invalidValue } from '../../errors.js';
import { parseJsonBody } from '../../http/body/json-body.js';
import { BodyBudget, readBody, refuseCompressed } from '../../http/body/read-body.js';
import { authorize, type CloudKey, type KeyRing } from '../gateway/access.js';
import { isPublicPath, parseAppAddress } from '../gateway/app-address.js';
import type { AppDirectory } from '../gateway/directory.js';
import type { Queue } from './queue.js';
import type { QueuedRequest } from './queue-store.js';
import { errorIn, webhookState } from './request-state.js';

export interface QueueRoutesParts {
  queue: Queue;
  directory: AppDirectory;
  keys: KeyRing;
  publicUrl(): string;
}

const BASE = '/queue';
const APP = `${BASE}/:org/:app`;
const MAX_BODY_BYTES = 8 * 2 ** 20;
/** Limits of unfinished requests. */
const MAX_OF_KEY = 1000;
const MAX_OF_ORG = 5000;
const MAX_BYTES_OF_ORG = 256 * 2 ** 20;
const FULL_RETRY_S = 30;
/** Endpoints that read `priority`. */
const WITH_PRIORITY: readonly string[] = BATCH_ENDPOINTS.filter((path) => path !== '/v1/embeddings');

interface Names {
  org: string;
  app: string;
}

export function queueRoutes(api: FastifyInstance, parts: QueueRoutesParts): void {
  api.register(async (scope) => {
    const bodies = BodyBudget.forBodiesOf(MAX_BODY_BYTES);
    scope.removeAllContentTypeParsers();
    // Any content type, as for direct requests. The handler reads the body.
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
    scope.addHook('onRequest', async (request, reply) => {
      reply.header('cache-control', 'no-store').header('connection', 'close');
      keyOf(request, parts);
      reply.removeHeader('connection');
    });
    scope.post(`${APP}/*`, async (request, reply) => {
      const { raw } = request;
      refuseCompressed(raw.headers);
      if (raw.headers.expect?.toLowerCase() === '100-continue') reply.raw.writeContinue();
      const maxBytes = Math.min(MAX_BODY_BYTES, keyOf(request, parts).limits.bodyBytes ?? MAX_BODY_BYTES);
      // Otherwise Node would read the rest of a refused body to reuse the connection.
      reply.header('connection', 'close');
      const body = await readBody(raw, reply.raw, { maxBytes }, bodies);
      reply.removeHeader('connection');
      return submit(request, body, parts);
    });
    scope.get(`${APP}/requests/:id/status`, async (request, reply) => {
      const found = find(request, parts);
      reply.code(found.state === 'done' ? 200 : 202);
      return toStatus(found, parts);
    });
    scope.get(`${APP}/requests/:id`, async (request, reply) => {
      const found = find(request, parts);
      if (found.state === 'done') return sendResult(reply, found, parts);
      return reply.code(400).send({ detail: 'Request is still in progress', ...toStatus(found, parts) });
    });
    scope.put(`${APP}/requests/:id/cancel`, async (request, reply) => {
      const isCancelled = parts.queue.dispatcher.cancel(find(request, parts).id);
      reply.code(isCancelled ? 202 : 400);
      return { status: isCancelled ? 'CANCELLATION_REQUESTED' : 'ALREADY_COMPLETED' };
    });
  });
}

/** Public apps need a key too: it limits the sender, and protects the result. */
function keyOf({ params, headers }: FastifyRequest, parts: QueueRoutesParts): CloudKey {
  const { key } = authorize(parts, params as Names, headers.authorization);
  if (key !== null) return key.known;
  throw new ChasquiError('invalid_api_key', 'The queue requires `Authorization: Key <API_KEY>`, also for public apps.');
}

function submit(request: FastifyRequest, body: Buffer, parts: QueueRoutesParts): object {
  const { queue, directory } = parts;
  const { org, app, path, query } = parseAppAddress(request.raw.url?.slice(BASE.length) ?? '');
  if (!isPublicPath(path)) throw new ChasquiError('unknown_url', 'The queue accepts `POST /queue/<org>/<app>/v1/…`.');
  const failure = directory.find(org, app)?.failure;
  if (failure) throw new ChasquiError(failure.code, failure.message);
  const search = new URLSearchParams(query);
  const asked = search.get('fal_webhook');
  search.delete('fal_webhook');
  const webhook = asked === null ? null : queue.webhooks.check(org, asked, 'fal_webhook');
  const { id: keyId } = keyOf(request, parts);
  const contents = toContents(path, body);
  refuseFull(queue, { org, keyId, bytes: contents.length });
  const rest = search.size === 0 ? '' : `?${search}`;
  const id = queue.store.add({ org, app, keyId, path: path + rest, body: contents, webhook });
  queue.dispatcher.dispatch(org, app);
  return toStatus(queue.store.find(id) as QueuedRequest, parts);
}

/** Checks the body, and sets the lowest priority. */
function toContents(path: string, body: Buffer): Buffer {
  const fields = parseJsonBody(body);
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) {
    throw new ChasquiError('invalid_type', 'The request body must be a JSON object.');
  }
  if ('stream' in fields && fields.stream === true) {
    throw invalidValue('`stream` must not be true: the queue stores complete replies.', 'stream');
  }
  const hasPriority = WITH_PRIORITY.includes(path.replace(/\/$/, ''));
  return hasPriority ? Buffer.from(JSON.stringify({ ...fields, priority: -MAX_PRIORITY })) : body;
}

function refuseFull({ store }: Queue, { org, keyId, bytes }: { org: string; keyId: string; bytes: number }): void {
  const load = store.load(org, keyId);
  const limits = [
    [load.countOfKey >= MAX_OF_KEY, `${MAX_OF_KEY} requests per key`],
    [load.count >= MAX_OF_ORG, `${MAX_OF_ORG} requests per organisation`],
    [load.bytes + bytes > MAX_BYTES_OF_ORG, `${MAX_BYTES_OF_ORG} bytes per organisation`],
  ] as const;
  const limit = limits.find(([isReached]) => isReached)?.[1];
  if (limit === undefined) return;
  const error = new ChasquiError('queue_full', `The queue holds at most ${limit} that are not completed.`);
  error.retryAfterSeconds = FULL_RETRY_S;
  throw error;
}

/** A request is visible to the key that has submitted it. */
function find(request: FastifyRequest, parts: QueueRoutesParts): QueuedRequest {
  const { org, app, id } = request.params as Names & { id: string };
  const found = parts.queue.store.find(id);
  const { id: keyId } = keyOf(request, parts);
  if (found?.org === org && found.app === app && found.keyId === keyId) return found;
  throw new ChasquiError('response_not_found', 'The request is not in the queue, or belongs to another key.');
}

function toStatus(found: QueuedRequest, { queue, publicUrl }: QueueRoutesParts): object {
  const { id, org, app, state, startedAt, finishedAt } = found;
  const url = `${publicUrl()}${BASE}/${org}/${app}/requests/${id}`;
  const isDone = state === 'done';
  return {
    status: { queued: 'IN_QUEUE', running: 'IN_PROGRESS', done: 'COMPLETED' }[state],
    request_id: id,
    response_url: url,
    status_url: `${url}/status`,
    cancel_url: `${url}/cancel`,
    ...(state === 'queued' && { queue_position: queue.store.position(id) }),
    ...(isDone && startedAt !== null && { metrics: { inference_time: ((finishedAt ?? 0) - startedAt) / 1000 } }),
    ...(isDone && found.status !== 200 && errorIn(queue.store.result(id))),
    ...(found.webhook !== null && { webhook: webhookState(found) }),
  };
}

function sendResult(reply: FastifyReply, { id, status, type }: QueuedRequest, { queue }: QueueRoutesParts) {
  return reply
    .code(status ?? 500)
    .header('content-type', type)
    .header('content-security-policy', "sandbox; default-src 'none'")
    .header('x-content-type-options', 'nosniff')
    .send(queue.store.result(id));
}
