/** Creates, revokes and lists keys, for the API and the dashboard. */
import { ChasquiError } from '../../errors.js';
import type { ApiKey, NewKeySettings } from '../../keys/key-store.js';
import type { Accounts } from './accounts.js';
import type { Actor } from './audit.js';
import { beyond, isWithin } from './authorize.js';

/**
 * Creates a key within the actor's organisation or app, with any scopes, limits and expiry. The key itself is returned
 * once and not stored.
 *
 * @throws {ChasquiError} `permission_denied` beyond the actor's reach; `invalid_value` for invalid settings
 */
export function createKey({ keys, audit }: Accounts, actor: Actor, settings: NewKeySettings): NewlyMade {
  if (!isWithin(settings, actor)) throw beyond(actor);
  const { id, key } = keys.create(settings);
  const made = keys.find(id) as ApiKey;
  const { name, org, app, scopes, expiresAt } = made;
  audit.add({
    actor,
    action: 'key.create',
    org,
    subject: id,
    detail: { name, org, app, scopes, expires_at: expiresAt },
  });
  return { key, made };
}

export interface NewlyMade {
  key: string;
  made: ApiKey;
}

/**
 * A cloud refuses the key at once. If the disk is full, the cloud stores the revocation later.
 *
 * @throws {ChasquiError} `key_not_found`, also for keys that the actor may not see
 */
export function revokeKey({ keys, audit, orLater }: Accounts, actor: Actor, id: string): ApiKey {
  const found = keys.find(id);
  if (!found || !isWithin(found, actor)) {
    throw new ChasquiError('key_not_found', `No key has the id \`${id.slice(0, 40)}\`.`);
  }
  if (found.revokedAt !== null) return found;
  keys.refuse(id);
  orLater(() => keys.revoke(id));
  orLater(() => audit.add({ actor, action: 'key.revoke', org: found.org, subject: id, detail: { name: found.name } }));
  const { revokedAt = null } = keys.find(id) ?? {};
  return { ...found, revokedAt: revokedAt ?? Math.floor(Date.now() / 1000) };
}

export function visibleKeys({ keys }: Accounts, actor: Actor): ApiKey[] {
  return keys.list({ org: actor.org, app: actor.app }).filter((key) => isWithin(key, actor));
}
