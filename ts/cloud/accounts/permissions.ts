/** The scope that each route of the management API requires. `GET` includes `HEAD`. */
import type { Scope } from '../../keys/key-settings.js';

const BASE = '/api/cloud/v1';
const APP = `${BASE}/apps/:org/:app`;

export const PERMISSIONS: Readonly<Record<string, Scope>> = {
  'GET /metrics': 'read',
  [`GET ${BASE}/about`]: 'read',
  [`GET ${BASE}/apps`]: 'read',
  [`GET ${APP}`]: 'read',
  [`GET ${APP}/events`]: 'read',
  [`GET ${APP}/logs`]: 'read',
  [`GET ${APP}/queue`]: 'read',
  [`GET ${APP}/queue/:id`]: 'read',
  [`GET ${BASE}/runners`]: 'read',
  [`GET ${BASE}/secrets/:org`]: 'read',
  [`GET ${BASE}/keys`]: 'read',
  [`GET ${BASE}/keys/:id`]: 'read',
  [`GET ${BASE}/usage`]: 'read',
  [`GET ${BASE}/budgets`]: 'read',
  [`POST ${APP}/revisions`]: 'deploy',
  [`POST ${APP}/rollback`]: 'deploy',
  [`POST ${APP}/restart`]: 'deploy',
  [`PUT ${APP}/scale`]: 'deploy',
  [`DELETE ${APP}/scale`]: 'deploy',
  [`DELETE ${APP}`]: 'deploy',
  [`DELETE ${APP}/queue/:id`]: 'deploy',
  [`DELETE ${BASE}/runners/:id`]: 'deploy',
  [`PUT ${BASE}/secrets/:org/:name`]: 'deploy',
  [`DELETE ${BASE}/secrets/:org/:name`]: 'deploy',
  [`GET ${BASE}/models/:sha256`]: 'deploy',
  [`PUT ${BASE}/models/:sha256`]: 'deploy',
  [`POST ${BASE}/keys`]: 'admin',
  [`DELETE ${BASE}/keys/:id`]: 'admin',
  [`PUT ${BASE}/budgets/:org`]: 'admin',
  [`DELETE ${BASE}/budgets/:org`]: 'admin',
  [`PUT ${BASE}/budgets/:org/keys/:id`]: 'admin',
  [`DELETE ${BASE}/budgets/:org/keys/:id`]: 'admin',
  [`GET ${BASE}/users`]: 'admin',
  [`POST ${BASE}/users`]: 'admin',
  [`DELETE ${BASE}/users/:id`]: 'admin',
  [`DELETE ${BASE}/users/:id/identity`]: 'admin',
  [`GET ${BASE}/audit`]: 'admin',
  [`POST ${BASE}/setup-link`]: 'admin',
};

/** Throws for a route that is not in the table. */
export function scopeOf(method: string, route: string | undefined): Scope {
  const name = `${method === 'HEAD' ? 'GET' : method} ${route}`;
  const scope = Object.hasOwn(PERMISSIONS, name) ? PERMISSIONS[name] : undefined;
  if (scope === undefined) throw new Error(`The table of permissions lacks ${name}.`);
  return scope;
}
