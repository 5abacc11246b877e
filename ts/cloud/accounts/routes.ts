/** `/api/cloud/v1/keys|users|usage|audit`: the accounts API. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ChasquiError } from '../../errors.js';
import { limitsToJson, roleOf } from '../../keys/key-settings.js';
import type { ApiKey, NewKeySettings } from '../../keys/key-store.js';
import type { Accounts } from './accounts.js';
import type { Actor } from './audit.js';
import { type Authorize, beyond, isWithin } from './authorize.js';
import { createKey, revokeKey, visibleKeys } from './key-changes.js';
import { auditQuery, keyFromBody, nameFromBody, usageQuery } from './parse-input.js';
import { type UsageRow, usageCsv } from './usage-store.js';

export interface AccountsRoutesParts {
  accounts: Accounts;
  authorize: Authorize;
  /** Base URL for browsers and clients, without a trailing slash. */
  publicUrl: () => string;
}

const BASE = '/api/cloud/v1';
const BODY_LIMIT = 16 * 1024;

/** Handlers throw `ChasquiError` for the error handler of `app`. */
export function accountsRoutes(app: FastifyInstance, parts: AccountsRoutesParts): void {
  keysRoutes(app, parts);
  usersRoutes(app, parts);
  readingRoutes(app, parts);
}

function keysRoutes(app: FastifyInstance, { accounts, authorize }: AccountsRoutesParts): void {
  app.get(`${BASE}/keys`, async (request) => {
    const actor = authorize(request);
    return { keys: visibleKeys(accounts, actor).map(keyToJson) };
  });
  app.post(`${BASE}/keys`, { bodyLimit: BODY_LIMIT }, async (request, reply) => {
    const actor = authorize(request);
    const settings: NewKeySettings = { org: actor.org, app: actor.app, ...keyFromBody(request.body) };
    const { key, made } = createKey(accounts, actor, settings);
    reply.code(201).header('cache-control', 'no-store');
    return { ...keyToJson(made), key };
  });
  app.get(`${BASE}/keys/:id`, async (request) => {
    const actor = authorize(request);
    const found = accounts.keys.find(idOf(request));
    if (!found || !isWithin(found, actor)) throw new ChasquiError('key_not_found', 'No key has this id.');
    return keyToJson(found);
  });
  app.delete(`${BASE}/keys/:id`, async (request) => {
    const actor = authorize(request);
    return keyToJson(revokeKey(accounts, actor, idOf(request)));
  });
}

/** Users see all organisations, so managing them requires an unrestricted `admin` key. */
function usersRoutes(app: FastifyInstance, { accounts, authorize, publicUrl }: AccountsRoutesParts): void {
  const authorizeAll = (request: FastifyRequest) => {
    const actor = authorize(request);
    if (actor.org !== null) throw beyond(actor);
    return actor;
  };
  app.get(`${BASE}/users`, async (request) => {
    authorizeAll(request);
    return {
      users: accounts.users.list().map(({ id, name, hasPassword, createdAt }) => {
        return { id, name, has_password: hasPassword, created_at: createdAt };
      }),
    };
  });
  app.post(`${BASE}/users`, { bodyLimit: BODY_LIMIT }, async (request, reply) => {
    const actor = authorizeAll(request);
    const name = nameFromBody(request.body);
    const link = publicUrl() + accounts.setupPath(name);
    accounts.audit.add({ actor, action: 'user.link', subject: name });
    reply.code(201).header('cache-control', 'no-store');
    return { id: accounts.users.named(name)?.id, name, setup_link: link };
  });
  app.delete(`${BASE}/users/:id`, async (request, reply) => {
    const actor = authorizeAll(request);
    const user = accounts.users.find(idOf(request));
    if (!user) throw new ChasquiError('key_not_found', 'No user has this id.');
    accounts.audit.add({ actor, action: 'user.remove', subject: user.name });
    accounts.users.remove(user.id);
    reply.code(204);
  });
}

function readingRoutes(app: FastifyInstance, { accounts, authorize }: AccountsRoutesParts): void {
  app.get(`${BASE}/usage`, async (request, reply) => {
    const actor = authorize(request);
    const { format, ...query } = usageQuery(request.query);
    const rows = accounts.usage.list({ ...query, ...narrowed(query, actor) });
    if (format === 'csv') return reply.type('text/csv; charset=utf-8').send(usageCsv(rows));
    return { usage: rows.map(usageToJson) };
  });
  app.get(`${BASE}/audit`, async (request) => {
    const actor = authorize(request);
    // Audit rows cannot be filtered by app.
    if (actor.app !== null) throw beyond(actor);
    const query = auditQuery(request.query);
    return { audit: accounts.audit.list({ ...query, org: narrowed(query, actor).org }) };
  });
}

/** The requested reach, or by default the actor's own. */
function narrowed(requested: { org?: string | null; app?: string | null }, actor: Actor) {
  const org = requested.org ?? actor.org;
  const app = requested.app ?? actor.app;
  if (!isWithin({ org, app }, actor)) throw beyond(actor);
  return { org, app };
}

function idOf(request: FastifyRequest): string {
  return (request.params as { id: string }).id;
}

/** Format of a key in the API and `chasqui keys`. */
export function keyToJson({ id, name, org, app, scopes, createdAt, expiresAt, revokedAt, lastUsedAt, limits }: ApiKey) {
  return {
    id,
    name,
    org,
    app,
    scopes,
    role: roleOf(scopes),
    created_at: createdAt,
    expires_at: expiresAt,
    revoked_at: revokedAt,
    last_used_at: lastUsedAt,
    limits: limitsToJson(limits),
  };
}

function usageToJson(row: UsageRow) {
  return {
    at: row.at,
    key_id: row.keyId,
    org: row.org,
    app: row.app,
    requests: row.requests,
    failed: row.failed,
    prompt_tokens: row.promptTokens,
    cached_tokens: row.cachedTokens,
    completion_tokens: row.completionTokens,
  };
}
