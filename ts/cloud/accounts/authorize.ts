/** Who sends a request to the management API, and whether that may do what it asks. */
import type { FastifyRequest } from 'fastify';
import { ChasquiError } from '../../errors.js';
import type { KeyRing, Scope } from '../gateway/access.js';
import { type Actor, LOCAL_ACTOR } from './audit.js';
import { isSame } from './secret.js';

/** What a request is about: null, or nothing, stands for all organisations and all apps. */
export interface Reach {
  org?: string | null;
  app?: string | null;
}

/**
 * Returns who asks. Throws `invalid_api_key` for a request without a valid key, and `permission_denied` where the key
 * lacks the scope or is for another organisation or app. Without `reach`, the caller narrows what it does to that of the
 * actor.
 */
export type Authorize = (request: FastifyRequest, scope: Scope, reach?: Reach) => Actor;

export interface AuthorizeParts {
  ring: KeyRing;
  /** What the file holds that only this machine's account can read; it opens everything. */
  localToken: string | null;
}

export function authorizer({ ring, localToken }: AuthorizeParts): Authorize {
  return (request, scope, reach) => {
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

const UNKNOWN =
  'Every request must carry the header `Authorization: Key <API_KEY>`, with one space and a key that is valid now.';

/** Whether the actor may reach all of it. */
export function isWithin({ org = null, app = null }: Reach, actor: Actor): boolean {
  return (actor.org === null || actor.org === org) && (actor.app === null || actor.app === app);
}

export function beyond({ name, org, app }: Actor): ChasquiError {
  const opened = [org, app].filter((part) => part !== null).join('/');
  return new ChasquiError('permission_denied', `The key ${name} is for ${opened} only.`);
}
