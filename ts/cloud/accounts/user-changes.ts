/** Invites and removes users, for the API and the dashboard. */
import { ChasquiError, invalidValue } from '../../errors.js';
import type { Role } from '../../keys/key-settings.js';
import type { Accounts } from './accounts.js';
import type { Actor } from './audit.js';
import { beyond, isWithin } from './authorize.js';
import { type Membership, OWNER, type User, type Users } from './users.js';

export interface Invitation {
  name: string;
  /** Undefined: that of a known user, otherwise that of the actor. */
  org?: string | null | undefined;
  /** Undefined: that of a known user, otherwise `viewer`, or `owner` for all organisations. */
  role?: Role | undefined;
}

/**
 * Creates a user, or changes one of the actor's organisation. Returns the path of a page for setting the password.
 *
 * @throws {ChasquiError} `permission_denied` beyond the actor's reach; `invalid_value` for a name that another organisation
 * has, or an invalid one
 */
export function inviteUser(accounts: Accounts, actor: Actor, invitation: Invitation): { user: User; path: string } {
  const { users, audit } = accounts;
  const { name } = invitation;
  const known = users.named(name);
  if (known !== null && !isWithin(known, actor)) throw taken();
  const { org = known?.org ?? actor.org } = invitation;
  const { role = known?.role ?? (org === null ? 'owner' : 'viewer') } = invitation;
  if (!isWithin({ org }, actor)) throw beyond(actor);
  checkOwner(name, { org, role });
  const added = users.add(name, { org, role });
  if (added.org !== org || added.role !== role) users.change(added.id, { org, role });
  const path = `/dashboard/setup/${users.newLink(added.id, { isInvitation: !added.hasPassword })}`;
  audit.add({ actor, action: 'user.link', org, subject: name, detail: { role } });
  return { user: { ...added, org, role }, path };
}

/** @throws {ChasquiError} `key_not_found`, also for users that the actor may not see */
export function removeUser({ users, audit }: Accounts, actor: Actor, id: string): void {
  const user = visibleUser(users, actor, id);
  audit.add({ actor, action: 'user.remove', org: user.org, subject: user.name });
  users.remove(user.id);
}

/**
 * Lets another account of the OpenID Connect provider sign in as the user.
 *
 * @throws {ChasquiError} `key_not_found`, also for users that the actor may not see
 */
export function resetSignIn({ users, audit }: Accounts, actor: Actor, id: string): User {
  const user = visibleUser(users, actor, id);
  audit.add({ actor, action: 'user.reset_sign_in', org: user.org, subject: user.name });
  users.unbind(user.id);
  return { ...user, oidcIssuer: null };
}

function visibleUser(users: Users, actor: Actor, id: string): User {
  const user = users.find(id);
  if (user !== null && isWithin(user, actor)) return user;
  throw new ChasquiError('key_not_found', 'No user has this id.');
}

export function visibleUsers({ users }: Accounts, actor: Actor): User[] {
  return users.list().filter((user) => isWithin(user, actor));
}

/** `chasqui cloud setup-link` resets the password of the user `owner`, so this user always manages the cloud. */
function checkOwner(name: string, { org, role }: Membership): void {
  if (name.toLowerCase() === OWNER && (org !== null || role !== 'owner')) throw taken();
}

function taken(): ChasquiError {
  return invalidValue('`name` is taken. Choose another one.', 'name');
}
