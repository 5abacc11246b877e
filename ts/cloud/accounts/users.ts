/** The people who may use the dashboard, and the one-time links by which they set their passwords. */
import { ChasquiError } from '../../errors.js';
import { newId } from '../../new-id.js';
import type { Database } from '../store/database.js';
import type { Passwords } from './password.js';
import { hashOf, newSecret } from './secret.js';

export const OWNER = 'owner';
const LINK_SECONDS = 30 * 60;
const USER_NAME = /^[\p{L}\p{N}][\p{L}\p{N} ._@+-]{0,63}$/u;
const MAX_USERS = 1000;

export interface User {
  id: string;
  name: string;
  hasPassword: boolean;
  /** Unix seconds. */
  createdAt: number;
}

interface UserRow {
  id: string;
  name: string;
  password: string | null;
  created_at: number;
}

export class Users {
  readonly #database: Database;
  readonly #passwords: Passwords;

  constructor(database: Database, passwords: Passwords) {
    this.#database = database;
    this.#passwords = passwords;
  }

  list(): User[] {
    return this.#database.all<UserRow>('SELECT * FROM users ORDER BY created_at, name').map(toUser);
  }

  find(id: string): User | null {
    const row = this.#database.get<UserRow>('SELECT * FROM users WHERE id = ?', [id]);
    return row ? toUser(row) : null;
  }

  named(name: string): User | null {
    const row = this.#database.get<UserRow>('SELECT * FROM users WHERE name = ?', [name]);
    return row ? toUser(row) : null;
  }

  /** The person of this name, who is added when there is none. */
  add(name: string): User {
    if (!USER_NAME.test(name)) {
      const message =
        '`name` must have up to 64 letters, digits, spaces and `._@+-`, and begin with a letter or digit.';
      throw new ChasquiError('invalid_value', message, 'name');
    }
    return this.#database.transaction(() => {
      const known = this.named(name);
      if (known) return known;
      if (this.list().length >= MAX_USERS) {
        throw new ChasquiError('invalid_value', `There are ${MAX_USERS} people already; remove some.`, 'name');
      }
      const id = newId('user-');
      this.#database.run('INSERT INTO users (id, name, created_at) VALUES (?, ?, unixepoch())', [id, name]);
      return this.find(id) as User;
    });
  }

  /** Ends the person's sessions too. Returns false when there is no such person. */
  remove(id: string): boolean {
    return this.#database.run('DELETE FROM users WHERE id = ?', [id]) > 0;
  }

  /** Returns the secret of a link for setting the person's password: once, within half an hour. Older ones end. */
  newLink(userId: string, now = Date.now() / 1000): string {
    const secret = newSecret();
    this.#database.transaction(() => {
      this.#database.run('DELETE FROM setup_links WHERE user_id = ? OR expires_at <= ?', [userId, Math.floor(now)]);
      this.#database.run('INSERT INTO setup_links (hash, user_id, expires_at) VALUES (?, ?, ?)', [
        ...[hashOf(secret), userId, Math.floor(now) + LINK_SECONDS],
      ]);
    });
    return secret;
  }

  /** Whose password a link sets, if it is good still. Looking does not use it up. */
  ofLink(secret: string, now = Date.now() / 1000): User | null {
    const row = this.#database.get<UserRow>(
      'SELECT users.* FROM setup_links JOIN users ON users.id = user_id WHERE hash = ? AND expires_at > ?',
      [hashOf(secret), now],
    );
    return row ? toUser(row) : null;
  }

  /** Uses a link up. Of two at the same time one gets null. */
  async setPasswordByLink(secret: string, password: string): Promise<User | null> {
    if (!this.ofLink(secret)) return null;
    const stored = await this.#passwords.hash(password);
    return this.#database.transaction(() => {
      const user = this.ofLink(secret);
      if (!user) return null;
      this.#database.run('DELETE FROM setup_links WHERE hash = ?', [hashOf(secret)]);
      this.#store(user.id, stored);
      return user;
    });
  }

  /** All sessions of the person end: whoever knew the old password is out. */
  async setPassword(userId: string, password: string): Promise<void> {
    const stored = await this.#passwords.hash(password);
    this.#database.transaction(() => this.#store(userId, stored));
  }

  /** Takes as long for a name that nobody has. */
  async withPassword(name: string, password: string): Promise<User | null> {
    const row = this.#database.get<UserRow>('SELECT * FROM users WHERE name = ?', [name]);
    const matches = await this.#passwords.matches(password, row?.password ?? null);
    // The person may have been removed, or have got another password, while this one was being checked.
    const now = row && this.#database.get<UserRow>('SELECT * FROM users WHERE id = ?', [row.id]);
    return matches && now && now.password === row.password ? toUser(now) : null;
  }

  #store(userId: string, stored: string): void {
    this.#database.run('UPDATE users SET password = ? WHERE id = ?', [stored, userId]);
    this.#database.run('DELETE FROM sessions WHERE user_id = ?', [userId]);
  }
}

function toUser({ id, name, password, created_at: createdAt }: UserRow): User {
  return { id, name, hasPassword: password !== null, createdAt };
}
