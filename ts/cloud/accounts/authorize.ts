/** Authorizes requests to the management API. */
import type { FastifyRequest } from 'fastify';
import { ChasquiError } from '../../errors.js';
import type { KeyRing } from '../gateway/access.js';
import { type Actor, LOCAL_ACTOR } from './audit.js';
import { scopeOf } from './permissions.js';
import { isSame } from './secret.js';

/** The objects of a request; null or undefined: all organisations or apps. */
export interface Reach {
  org?: string | null;
  app?: string | null;
}

/**
 * Returns the actor. Without `reach` the caller restricts the request to the actor's reach.
 *
 * @throws {ChasquiError} `invalid_api_key` without a valid key; `permission_denied` if the key lacks the scope of the route
 * or is for another organisation or app
 */
export type Authorize = (request: FastifyRequest, reach?: Reach) => Actor;

export interface AuthorizeParts {
  ring: KeyRing;
  /** Token from a file that only this account can read; allows everything. */
  localToken: string | null;
}

export function authorizer({ ring, localToken }: AuthorizeParts): Authorize {
  return (request, reach) => {
    const scope = scopeOf(request.method, request.routeOptions.url);
    const [, sent] = /^Key (\S+)$/.exec(request.headers.authorization ?? '') ?? [];
    if (sent !== undefined && localToken !== null && isSame(sent, localToken)) {
      return { ...LOCAL_ACTOR, address: request.ip };
    }
    const key = sent === undefined ? null : ring.check(sent);
    if (!key) throw new ChasquiError('invalid_api_key', UNKNOWN);
    if (!key.scopes.includes(scope)) {
      const message = `The key ${key.id} lacks the scope \`${scope}\`; it has ${key.scopes.join(', ')}.`;
      throw new ChasquiError('permission_denied', message);
    }
    const actor: Actor = { kind: 'key', name: key.id, org: key.org, app: key.app, address: request.ip };
    if (reach && !isWithin(reach, actor)) throw beyond(actor);
    return actor;
  };
}

const UNKNOWN = 'Requests need the header `Authorization: Key <API_KEY>`, with one space and a valid key.';

export function isWithin({ org = null, app = null }: Reach, actor: Actor): boolean {
  return (actor.org === null || actor.org === org) && (actor.app === null || actor.app === app);
}

export function beyond({ name, org, app }: Actor): ChasquiError {
  const opened = [org, app].filter((part) => part !== null).join('/');
  return new ChasquiError('permission_denied', `The key ${name} is restricted to ${opened}.`);
}
