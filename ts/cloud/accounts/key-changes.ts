/** Making and revoking keys: the same for the API, the dashboard and the audit. */
import { ChasquiError } from '../../errors.js';
import type { ApiKey, NewKeySettings } from '../../keys/key-store.js';
import type { Accounts } from './accounts.js';
import type { Actor } from './audit.js';
import { beyond, isWithin } from './authorize.js';

/**
 * The key is returned once and never stored. Whoever may manage an organisation, or one app, may make any key for it: with
 * all scopes, without limits, and for longer than the actor's own is valid. Throws `permission_denied` for one that reaches
 * further, and `invalid_value` for settings that are wrong.
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
  /** What its holder sends. */
  key: string;
  made: ApiKey;
}

/** Throws `key_not_found` for keys that the actor may not see as well as for those that there are not. */
export function revokeKey({ keys, audit }: Accounts, actor: Actor, id: string): ApiKey {
  const found = keys.find(id);
  if (!found || !isWithin(found, actor)) {
    throw new ChasquiError('key_not_found', `There is no key with the id \`${id.slice(0, 40)}\`.`);
  }
  if (found.revokedAt !== null) return found;
  audit.add({ actor, action: 'key.revoke', org: found.org, subject: id, detail: { name: found.name } });
  return keys.revoke(id) as ApiKey;
}

/** The keys that the actor may see: those that open nothing but what the actor reaches. */
export function visibleKeys({ keys }: Accounts, actor: Actor): ApiKey[] {
  return keys.list({ org: actor.org, app: actor.app }).filter((key) => isWithin(key, actor));
}
