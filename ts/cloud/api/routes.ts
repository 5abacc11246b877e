/** `/api/cloud/v1/apps|runners|secrets|models|about`: the management API. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ChasquiError, invalidValue } from '../../errors.js';
import { checkUrlName } from '../../keys/key-settings.js';
import { VERSION } from '../../version.js';
import type { Actor, AuditLog } from '../accounts/audit.js';
import { type Authorize, isWithin } from '../accounts/authorize.js';
import type { ChangeLimits } from '../accounts/change-limits.js';
import type { AppControl } from '../apps/control.js';
import { isSecretName, WANTED_SECRET } from '../script/field-values.js';
import type { SecretStore } from '../store/secrets.js';
import { readCount, readCursor, readDeployment, readRollback, readScale, readSecret } from './read-bodies.js';
import type { ModelUploads } from './uploads.js';

export interface ApiParts {
  control: AppControl;
  secrets: SecretStore;
  uploads: ModelUploads;
  audit: Pick<AuditLog, 'add'>;
  changes: ChangeLimits;
  authorize: Authorize;
  ownOrg: string;
  publicUrl: () => string;
}

export const API_BASE = '/api/cloud/v1';
const APP = `${API_BASE}/apps/:org/:app`;
const BODY_LIMIT = 2 ** 20;
const MAX_EVENTS = 1000;
const ALWAYS_REMOVABLE = ['keys/:id', 'users/:id', 'users/:id/identity'].map((url) => `${API_BASE}/${url}`);
const MODEL_URL = new RegExp(`^${API_BASE}/models/[0-9a-f]{64}(\\?|$)`);

/** Handlers throw `ChasquiError` for the error handler of `app`. */
export function apiRoutes(app: FastifyInstance, parts: ApiParts): void {
  // Before the body is read. The handlers check the organisation and the app.
  app.addHook('onRequest', async (request, reply) => {
    if (request.is404 || !request.routeOptions.url?.startsWith(API_BASE)) return;
    // Otherwise Node would read the rest of a refused body to reuse the connection.
    reply.header('connection', 'close');
    const actor = parts.authorize(request);
    if (isLimited(request)) parts.changes.take(actor);
    reply.removeHeader('connection');
  });
  app.get(`${API_BASE}/about`, async (request) => {
    parts.authorize(request);
    return { version: VERSION, org: parts.ownOrg, url: parts.publicUrl() };
  });
  readingRoutes(app, parts);
  changingRoutes(app, parts);
  secretRoutes(app, parts);
  app.register(async (scope) => uploadRoute(scope, parts));
  app.get(`${API_BASE}/models/:sha256`, async (request) => {
    const { org } = parts.authorize(request);
    const { sha256 } = request.params as { sha256: string };
    const path = parts.uploads.find(sha256, org);
    const bytes = readCount(request.query, 'bytes', 0, Number.MAX_SAFE_INTEGER);
    if (path === null) parts.uploads.refuseBeyondQuota(org, sha256, bytes);
    // Report a full disk before the upload. A model that another organisation has sent needs no space.
    if (path === null && !parts.uploads.exists(sha256, bytes)) parts.uploads.reserveSpace(bytes);
    return { path };
  });
}

/** Keys and users can always be removed: otherwise a stolen key could use up the limit to prevent its revocation. */
function isLimited({ method, routeOptions: { url } }: FastifyRequest): boolean {
  return !['GET', 'HEAD'].includes(method) && !(method === 'DELETE' && ALWAYS_REMOVABLE.includes(url ?? ''));
}

/**
 * Whether the request uploads a model, which may take hours. Only paths of the route count: elsewhere nothing
 * authorizes the sender while the body is read.
 */
export function isUpload({ method, url = '' }: { method?: string | undefined; url?: string | undefined }): boolean {
  return method === 'PUT' && MODEL_URL.test(url);
}

/** In its own scope, without body parsers. */
function uploadRoute(scope: FastifyInstance, { uploads, authorize }: ApiParts): void {
  scope.removeAllContentTypeParsers();
  // Any content type.
  scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
  const onRequest = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    // Otherwise Node would read the rest of a refused body to reuse the connection.
    reply.header('connection', 'close');
    authorize(request);
    reply.removeHeader('connection');
    if (request.headers.expect?.toLowerCase() === '100-continue') reply.raw.writeContinue();
  };
  scope.put(`${API_BASE}/models/:sha256`, { onRequest }, async (request) => {
    const { org } = authorize(request);
    const { sha256 } = request.params as { sha256: string };
    const length = request.headers['content-length'];
    return { path: await uploads.receive(sha256, org, request.raw, length === undefined ? null : Number(length)) };
  });
}

function readingRoutes(app: FastifyInstance, { control, authorize }: ApiParts): void {
  app.get(`${API_BASE}/apps`, async (request) => {
    const actor = authorize(request);
    return { apps: control.list((org, app) => isWithin({ org, app }, actor)) };
  });
  app.get(APP, async (request) => {
    const { org, name } = authorized(request, authorize);
    // 0 selects no revision.
    const revision = readCount(request.query, 'revision', 0, Number.MAX_SAFE_INTEGER);
    return { ...control.status(org, name, revision), runners: await control.runnersOf(org, name) };
  });
  app.get(`${APP}/events`, async (request) => {
    const { org, name } = authorized(request, authorize);
    const after = readCount(request.query, 'after', 0, Number.MAX_SAFE_INTEGER);
    const limit = readCount(request.query, 'limit', 100, MAX_EVENTS);
    return { events: control.events(org, name, after, limit) };
  });
  app.get(`${APP}/logs`, async (request) => {
    const { org, name } = authorized(request, authorize);
    return control.logs(org, name, readCursor(request.query));
  });
  app.get(`${API_BASE}/runners`, async (request) => {
    const actor = authorize(request);
    return { runners: await control.runners((org, app) => isWithin({ org, app }, actor)) };
  });
}

function changingRoutes(app: FastifyInstance, { control, authorize }: ApiParts): void {
  app.post(`${APP}/revisions`, { bodyLimit: BODY_LIMIT }, async (request, reply) => {
    const { org, name, actor } = authorized(request, authorize);
    const deployed = control.deploy(org, name, readDeployment(request.body), actor);
    reply.code(deployed.unchanged ? 200 : 201);
    return deployed;
  });
  app.post(`${APP}/rollback`, { bodyLimit: BODY_LIMIT }, async (request) => {
    const { org, name, actor } = authorized(request, authorize);
    return control.rollBack(org, name, readRollback(request.body), actor);
  });
  app.post(`${APP}/restart`, { bodyLimit: BODY_LIMIT }, async (request) => {
    const { org, name, actor } = authorized(request, authorize);
    return control.restart(org, name, actor);
  });
  app.put(`${APP}/scale`, { bodyLimit: BODY_LIMIT }, async (request) => {
    const { org, name, actor } = authorized(request, authorize);
    return control.scale(org, name, readScale(request.body), actor);
  });
  app.delete(`${APP}/scale`, async (request) => {
    const { org, name, actor } = authorized(request, authorize);
    return control.scale(org, name, null, actor);
  });
  app.delete(APP, async (request) => {
    const { org, name, actor } = authorized(request, authorize);
    control.remove(org, name, actor);
    return { org, app: name, state: 'deleted' };
  });
  app.delete(`${API_BASE}/runners/:id`, async (request) => {
    const actor = authorize(request);
    const { id } = request.params as { id: string };
    control.stopRunner(id, (org, name) => isWithin({ org, app: name }, actor), actor);
    return { id, state: 'draining' };
  });
}

function secretRoutes(app: FastifyInstance, { secrets, authorize, audit }: ApiParts): void {
  app.get(`${API_BASE}/secrets/:org`, async (request) => {
    const { org } = request.params as { org: string };
    authorize(request, { org });
    return { secrets: secrets.list(org).map(({ name, updatedAt }) => ({ name, updated_at: updatedAt })) };
  });
  app.put(`${API_BASE}/secrets/:org/:name`, { bodyLimit: BODY_LIMIT }, async (request) => {
    const { org, name } = request.params as { org: string; name: string };
    const actor = authorize(request, { org });
    checkUrlName('org', org);
    if (!isSecretName(name)) throw invalidValue(`\`name\` must be ${WANTED_SECRET}.`, 'name');
    secrets.set(org, name, readSecret(request.body));
    audit.add({ actor, action: 'secret.set', org, subject: `${org}/${name}` });
    return { name };
  });
  app.delete(`${API_BASE}/secrets/:org/:name`, async (request) => {
    const { org, name } = request.params as { org: string; name: string };
    const actor = authorize(request, { org });
    if (!secrets.remove(org, name))
      throw new ChasquiError('app_not_found', `The secret ${name.slice(0, 100)} does not exist.`);
    audit.add({ actor, action: 'secret.remove', org, subject: `${org}/${name}` });
    return { name };
  });
}

function authorized(request: FastifyRequest, authorize: Authorize): { org: string; name: string; actor: Actor } {
  const { org, app: name } = request.params as { org: string; app: string };
  return { org, name, actor: authorize(request, { org, app: name }) };
}
