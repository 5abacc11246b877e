/** Users of the dashboard, and the one-time links for setting their passwords. */
import { randomBytes } from 'node:crypto';
import { invalidValue } from '../../errors.js';
import { checkUrlName, type Role } from '../../keys/key-settings.js';
import type { Database } from '../store/database.js';
import type { Passwords } from './password.js';
import { hashOf, newSecret } from './secret.js';

export const OWNER = 'owner';
const LINK_SECONDS = 30 * 60;
const INVITATION_SECONDS = 7 * 24 * 3600;
const USER_NAME = /^[\p{L}\p{N}][\p{L}\p{N} ._@+-]{0,63}$/u;
const MAX_USERS = 1000;
/** One organisation cannot use up the users of all others. */
const MAX_USERS_OF_ORG = 100;

export interface Membership {
  /** Restricts the user to one organisation; null: all. */
  org: string | null;
  role: Role;
}

const UNRESTRICTED_OWNER: Membership = { org: null, role: 'owner' };

export interface User extends Membership {
  id: string;
  name: string;
  hasPassword: boolean;
  /** Provider of the account that the user is bound to; null: not bound. */
  oidcIssuer: string | null;
  /** Unix seconds. */
  createdAt: number;
}

/** An account at an OpenID Connect provider. E-mail addresses change their owners, `subject` never does. */
export interface Identity {
  issuer: string;
  subject: string;
}

interface UserRow extends Membership {
  id: string;
  name: string;
  password: string | null;
  oidc_issuer: string | null;
  created_at: number;
}

export class Users {
  constructor(
    private readonly database: Database,
    private readonly passwords: Passwords,
  ) {}

  list(): User[] {
    return this.database.all<UserRow>('SELECT * FROM users ORDER BY created_at, name').map(toUser);
  }

  find(id: string): User | null {
    const row = this.database.get<UserRow>('SELECT * FROM users WHERE id = ?', [id]);
    return row ? toUser(row) : null;
  }

  named(name: string): User | null {
    const row = this.database.get<UserRow>('SELECT * FROM users WHERE name = ?', [name]);
    return row ? toUser(row) : null;
  }

  /** Returns the user of this name, created with `membership` if necessary. */
  add(name: string, { org, role }: Membership = UNRESTRICTED_OWNER): User {
    if (!USER_NAME.test(name)) {
      const message =
        '`name` must have at most 64 letters, digits, spaces and `._@+-`, and start with a letter or digit.';
      throw invalidValue(message, 'name');
    }
    if (org !== null) checkUrlName('org', org);
    return this.database.transaction(() => {
      const known = this.named(name);
      if (known) return known;
      const users = this.list();
      const isFull = org !== null && users.filter((user) => user.org === org).length >= MAX_USERS_OF_ORG;
      if (isFull || users.length >= MAX_USERS) {
        const limit = isFull ? `${MAX_USERS_OF_ORG} users of ${org}` : `${MAX_USERS} users`;
        throw invalidValue(`The limit of ${limit} is reached. Remove one first.`, 'name');
      }
      const id = `user-${randomBytes(16).toString('hex')}`;
      const sql = 'INSERT INTO users (id, name, org, role, created_at) VALUES (?, ?, ?, ?, unixepoch())';
      this.database.run(sql, [id, name, org, role]);
      return this.find(id) as User;
    });
  }

  /** Returns the user that is bound to the identity. Otherwise binds the user `name`; null if that one has another identity. */
  bind(name: string, { issuer, subject }: Identity): User | null {
    const bind = 'UPDATE users SET oidc_issuer = ?, oidc_subject = ? WHERE name = ? AND oidc_subject IS NULL';
    const find = 'SELECT * FROM users WHERE oidc_issuer = ? AND oidc_subject = ?';
    return this.database.transaction(() => {
      const found = () => this.database.get<UserRow>(find, [issuer, subject]);
      const known = found();
      if (known === undefined) this.database.run(bind, [issuer, subject, name]);
      const row = known ?? found();
      return row ? toUser(row) : null;
    });
  }

  /** The next sign-in with the user's address binds again. Ends the user's sessions. */
  unbind(id: string): void {
    this.database.transaction(() => {
      this.database.run('UPDATE users SET oidc_issuer = NULL, oidc_subject = NULL WHERE id = ?', [id]);
      this.database.run('DELETE FROM sessions WHERE user_id = ?', [id]);
    });
  }

  /** Takes effect at once, also in open sessions. */
  change(id: string, { org, role }: Membership): void {
    if (org !== null) checkUrlName('org', org);
    this.database.run('UPDATE users SET org = ?, role = ? WHERE id = ?', [org, role, id]);
  }

  /** Also ends the user's sessions. Returns false if the user does not exist. */
  remove(id: string): boolean {
    return this.database.run('DELETE FROM users WHERE id = ?', [id]) > 0;
  }

  /**
   * Returns the secret of a link for setting the password. It is valid once: for half an hour, or a week for an invitation.
   * Invalidates earlier links.
   */
  newLink(userId: string, { isInvitation = false, now = Date.now() / 1000 } = {}): string {
    const secret = newSecret();
    const seconds = isInvitation ? INVITATION_SECONDS : LINK_SECONDS;
    this.database.transaction(() => {
      this.database.run('DELETE FROM setup_links WHERE user_id = ? OR expires_at <= ?', [userId, Math.floor(now)]);
      this.database.run('INSERT INTO setup_links (hash, user_id, expires_at) VALUES (?, ?, ?)', [
        ...[hashOf(secret), userId, Math.floor(now) + seconds],
      ]);
    });
    return secret;
  }

  /** Returns the user of a valid link without using it up. */
  ofLink(secret: string, now = Date.now() / 1000): User | null {
    const row = this.database.get<UserRow>(
      'SELECT users.* FROM setup_links JOIN users ON users.id = user_id WHERE hash = ? AND expires_at > ?',
      [hashOf(secret), now],
    );
    return row ? toUser(row) : null;
  }

  /** Uses up a link. Returns null if it is invalid or was used concurrently. */
  async setPasswordByLink(secret: string, password: string): Promise<User | null> {
    if (!this.ofLink(secret)) return null;
    const stored = await this.passwords.hash(password);
    return this.database.transaction(() => {
      const user = this.ofLink(secret);
      if (!user) return null;
      this.database.run('DELETE FROM setup_links WHERE hash = ?', [hashOf(secret)]);
      this.#store(user.id, stored);
      return user;
    });
  }

  /** Ends all sessions of the user. */
  async setPassword(userId: string, password: string): Promise<void> {
    const stored = await this.passwords.hash(password);
    this.database.transaction(() => this.#store(userId, stored));
  }

  /** Takes equally long for an unknown name. */
  async withPassword(name: string, password: string): Promise<User | null> {
    const row = this.database.get<UserRow>('SELECT * FROM users WHERE name = ?', [name]);
    const matches = await this.passwords.matches(password, row?.password ?? null);
    // The user may have been removed or changed during the check.
    const now = row && this.database.get<UserRow>('SELECT * FROM users WHERE id = ?', [row.id]);
    return matches && now && now.password === row.password ? toUser(now) : null;
  }

  #store(userId: string, stored: string): void {
    this.database.run('UPDATE users SET password = ? WHERE id = ?', [stored, userId]);
    this.database.run('DELETE FROM sessions WHERE user_id = ?', [userId]);
  }
}

function toUser({ id, name, org, role, password, oidc_issuer: oidcIssuer, created_at: createdAt }: UserRow): User {
  return { id, name, org, role, hasPassword: password !== null, oidcIssuer, createdAt };
}
