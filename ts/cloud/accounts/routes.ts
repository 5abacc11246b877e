/** `/api/cloud/v1/keys|users|usage|audit`: the accounts API. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ChasquiError } from '../../errors.js';
import { limitsToJson, roleOf } from '../../keys/key-settings.js';
import type { ApiKey, NewKeySettings } from '../../keys/key-store.js';
import type { Accounts } from './accounts.js';
import type { Actor } from './audit.js';
import { type Authorize, beyond, isWithin } from './authorize.js';
import { createKey, revokeKey, visibleKeys } from './key-changes.js';
import { auditQuery, invitationFromBody, keyFromBody, usageQuery } from './parse-input.js';
import { type UsageRow, usageCsv } from './usage-store.js';
import { inviteUser, removeUser, resetSignIn, visibleUsers } from './user-changes.js';
import type { User } from './users.js';

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

function usersRoutes(app: FastifyInstance, { accounts, authorize, publicUrl }: AccountsRoutesParts): void {
  // Users are members of a whole organisation.
  const ofOrg = (request: FastifyRequest) => {
    const actor = authorize(request);
    if (actor.app !== null) throw beyond(actor);
    return actor;
  };
  app.get(`${BASE}/users`, async (request) => ({ users: visibleUsers(accounts, ofOrg(request)).map(userToJson) }));
  app.post(`${BASE}/users`, { bodyLimit: BODY_LIMIT }, async (request, reply) => {
    const { user, path } = inviteUser(accounts, ofOrg(request), invitationFromBody(request.body));
    reply.code(201).header('cache-control', 'no-store');
    return { ...userToJson(user), setup_link: publicUrl() + path };
  });
  app.delete(`${BASE}/users/:id/identity`, async (request) => {
    return userToJson(resetSignIn(accounts, ofOrg(request), idOf(request)));
  });
  app.delete(`${BASE}/users/:id`, async (request, reply) => {
    removeUser(accounts, ofOrg(request), idOf(request));
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

export function userToJson({ id, name, org, role, hasPassword, oidcIssuer, createdAt }: User) {
  return { id, name, org, role, has_password: hasPassword, oidc_issuer: oidcIssuer, created_at: createdAt };
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
