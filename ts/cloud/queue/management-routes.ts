/** `/api/cloud/v1/apps/<org>/<app>/queue`: the stored requests of an app, of all keys, without bodies and results. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ChasquiError } from '../../errors.js';
import type { AuditLog } from '../accounts/audit.js';
import type { Authorize } from '../accounts/authorize.js';
import { readCount } from '../api/read-bodies.js';
import { API_BASE } from '../api/routes.js';
import type { AppDirectory } from '../gateway/directory.js';
import type { Queue } from './queue.js';
import type { QueuedRequest } from './queue-store.js';
import { errorIn, webhookState } from './request-state.js';

export interface QueueManagementParts {
  queue: Queue;
  directory: AppDirectory;
  audit: Pick<AuditLog, 'add'>;
  authorize: Authorize;
}

const QUEUE = `${API_BASE}/apps/:org/:app/queue`;
const DEFAULT_ROWS = 100;
const MAX_ROWS = 1000;

interface Names {
  org: string;
  app: string;
}

export function queueManagementRoutes(api: FastifyInstance, parts: QueueManagementParts): void {
  const { queue, directory, audit, authorize } = parts;
  api.get(QUEUE, async (request) => {
    const names = request.params as Names;
    authorize(request, names);
    const rows = queue.store.list(names.org, names.app, readCount(request.query, 'limit', DEFAULT_ROWS, MAX_ROWS));
    // A deleted app may have requests.
    if (rows.length === 0 && directory.find(names.org, names.app) === null) throw noApp(names);
    return { requests: rows.map(toJson) };
  });
  api.get(`${QUEUE}/:id`, async (request) => {
    authorize(request, request.params as Names);
    return withDetails(find(request, queue), queue);
  });
  api.delete(`${QUEUE}/:id`, async (request) => {
    const { org, app } = request.params as Names;
    const actor = authorize(request, { org, app });
    const { id, keyId } = find(request, queue);
    const isCancelled = queue.dispatcher.cancel(id);
    const detail = { request: id, key: keyId };
    if (isCancelled) audit.add({ actor, action: 'queue.cancel', org, subject: `${org}/${app}`, detail });
    return { ...toJson(find(request, queue)), cancelled: isCancelled };
  });
}

function find({ params }: FastifyRequest, { store }: Queue): QueuedRequest {
  const { org, app, id } = params as Names & { id: string };
  const found = store.find(id);
  if (found?.org === org && found.app === app) return found;
  throw new ChasquiError('response_not_found', `The queue of the app has no request ${id.slice(0, 100)}.`);
}

function noApp({ org, app }: Names): ChasquiError {
  return new ChasquiError('app_not_found', `There is no app ${org.slice(0, 100)}/${app.slice(0, 100)}.`);
}

/** Times are milliseconds since 1970. */
function toJson(row: QueuedRequest) {
  const { id, org, app, keyId, state, attempts, createdAt, startedAt, finishedAt, status, webhook } = row;
  return {
    id,
    org,
    app,
    key_id: keyId,
    state: state === 'done' ? ('completed' as const) : state,
    attempts,
    created_at: createdAt,
    started_at: startedAt,
    finished_at: finishedAt,
    /** HTTP status of the result. */
    status,
    webhook: webhook === null ? null : webhookState(row),
  };
}

/** Reads the result of a failed request, and counts the earlier ones of a waiting request. */
function withDetails(row: QueuedRequest, { store }: Queue) {
  const hasFailed = row.state === 'done' && row.status !== 200;
  return {
    ...toJson(row),
    queue_position: row.state === 'queued' ? store.position(row.id) : null,
    error_type: hasFailed ? (errorIn(store.result(row.id)).error_type ?? null) : null,
  };
}

/** Requests as the API and `chasqui queue` print them. */
export type QueuedJson = ReturnType<typeof toJson>;
export type DetailedJson = ReturnType<typeof withDetails>;
