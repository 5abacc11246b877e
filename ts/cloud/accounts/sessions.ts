/** Dashboard sessions. Only hashes of the cookies' secrets are stored. */
import { randomBytes } from 'node:crypto';
import { ROLES, type Role, type Scope } from '../../keys/key-settings.js';
import type { Database, SqlValue } from '../store/database.js';
import { hashOf, newSecret } from './secret.js';

const HOUR = 3600;
const IDLE_SECONDS = 12 * HOUR;
const MAX_SECONDS = 7 * 24 * HOUR;
/** How long a password confirmation is valid. */
const CONFIRMED_SECONDS = 10 * 60;
/** Open pages poll every few seconds; limit the writes. */
const SEEN_EVERY_SECONDS = 60;
const MAX_SESSIONS_PER_USER = 50;
const MAX_BROWSER_LENGTH = 200;

export interface Session {
  /** Identifies the session in lists; not a secret. */
  id: string;
  userId: string;
  userName: string;
  /** Restricts the user to one organisation; null: all. */
  userOrg: string | null;
  userRole: Role;
  /** Unix seconds. */
  createdAt: number;
  seenAt: number;
  confirmedAt: number;
  address: string;
  browser: string;
}

const COLUMNS =
  'sessions.id, user_id AS userId, users.name AS userName, users.org AS userOrg, users.role AS userRole, ' +
  'sessions.created_at AS createdAt, seen_at AS seenAt, confirmed_at AS confirmedAt, address, browser';

export function may({ userRole }: Session, scope: Scope): boolean {
  return (ROLES[userRole] as readonly Scope[]).includes(scope);
}

/** Times are Unix seconds of the system clock, because sessions outlast the process. */
export class Sessions {
  readonly #now: () => number;

  constructor(
    private readonly database: Database,
    now: () => number = () => Date.now() / 1000,
  ) {
    this.#now = () => Math.floor(now());
  }

  /** Creates a session and returns the secret for the cookie. */
  begin(userId: string, { address, browser }: Pick<Session, 'address' | 'browser'>): string {
    const secret = newSecret();
    const now = this.#now();
    this.database.transaction(() => {
      this.database.run('DELETE FROM sessions WHERE created_at <= ? OR seen_at <= ?', [
        now - MAX_SECONDS,
        now - IDLE_SECONDS,
      ]);
      this.database.run(
        `DELETE FROM sessions WHERE user_id = ?1 AND hash NOT IN
          (SELECT hash FROM sessions WHERE user_id = ?1 ORDER BY seen_at DESC LIMIT ?2)`,
        [userId, MAX_SESSIONS_PER_USER - 1],
      );
      this.database.run(
        `INSERT INTO sessions (hash, id, user_id, created_at, seen_at, confirmed_at, address, browser)
          VALUES (?1, ?2, ?3, ?4, ?4, ?4, ?5, ?6)`,
        [hashOf(secret), randomBytes(8).toString('hex'), userId, now, address, browser.slice(0, MAX_BROWSER_LENGTH)],
      );
    });
    return secret;
  }

  /** Returns the valid session of a cookie and updates its time of use. */
  find(secret: string): Session | null {
    const now = this.#now();
    const [session] = this.#select('hash = ? AND sessions.created_at > ? AND seen_at > ?', [
      hashOf(secret),
      now - MAX_SECONDS,
      now - IDLE_SECONDS,
    ]);
    if (!session) return null;
    if (Math.abs(now - session.seenAt) >= SEEN_EVERY_SECONDS) {
      this.database.run('UPDATE sessions SET seen_at = ? WHERE id = ?', [now, session.id]);
    }
    return session;
  }

  /** Returns the session if it is valid. Does not update its time of use. */
  open(id: string): Session | null {
    const now = this.#now();
    const [session = null] = this.#select('sessions.id = ? AND sessions.created_at > ? AND seen_at > ?', [
      id,
      now - MAX_SECONDS,
      now - IDLE_SECONDS,
    ]);
    return session;
  }

  /** Sessions of a user, the most recently used first. */
  list(userId: string): Session[] {
    const now = this.#now();
    return this.#select('user_id = ? AND sessions.created_at > ? AND seen_at > ?', [
      userId,
      now - MAX_SECONDS,
      now - IDLE_SECONDS,
    ]);
  }

  /** Whether the password was confirmed recently enough for sensitive changes. */
  isConfirmed({ confirmedAt }: Session): boolean {
    const age = this.#now() - confirmedAt;
    return age >= 0 && age < CONFIRMED_SECONDS;
  }

  confirm(id: string): void {
    this.database.run('UPDATE sessions SET confirmed_at = ? WHERE id = ?', [this.#now(), id]);
  }

  end(userId: string, id: string): boolean {
    return this.database.run('DELETE FROM sessions WHERE user_id = ? AND id = ?', [userId, id]) > 0;
  }

  endAll(userId: string): void {
    this.database.run('DELETE FROM sessions WHERE user_id = ?', [userId]);
  }

  #select(where: string, values: readonly SqlValue[]): Session[] {
    return this.database.all(
      `SELECT ${COLUMNS} FROM sessions JOIN users ON users.id = user_id
        WHERE ${where} ORDER BY seen_at DESC, sessions.created_at DESC`,
      values,
    );
  }
}
