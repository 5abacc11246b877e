/** Who is signed in to the dashboard. Only hashes of what cookies hold are stored, and every session can be ended. */
import { randomBytes } from 'node:crypto';
import type { Database, SqlValue } from '../store/database.js';
import { hashOf, newSecret } from './secret.js';

const HOUR = 3600;
const IDLE_SECONDS = 12 * HOUR;
const MAX_SECONDS = 7 * 24 * HOUR;
/** For how long a password counts as just typed. */
const CONFIRMED_SECONDS = 10 * 60;
/** A page that is open asks every few seconds; the database need not know each time. */
const SEEN_EVERY_SECONDS = 60;
const MAX_SESSIONS_PER_USER = 50;
const MAX_BROWSER_LENGTH = 200;

export interface Session {
  /** Names it in lists; it opens nothing. */
  id: string;
  userId: string;
  userName: string;
  /** Unix seconds. */
  createdAt: number;
  seenAt: number;
  confirmedAt: number;
  address: string;
  /** What the browser calls itself. */
  browser: string;
}

interface SessionRow {
  id: string;
  user_id: string;
  user_name: string;
  created_at: number;
  seen_at: number;
  confirmed_at: number;
  address: string;
  browser: string;
}

/** Times are Unix seconds of the clock on the wall, because sessions outlast the process. */
export class Sessions {
  readonly #database: Database;
  readonly #now: () => number;

  constructor(database: Database, now: () => number = () => Date.now() / 1000) {
    this.#database = database;
    this.#now = () => Math.floor(now());
  }

  /** A new one at every sign-in; returns what the cookie shall hold. */
  begin(userId: string, { address, browser }: Pick<Session, 'address' | 'browser'>): string {
    const secret = newSecret();
    const now = this.#now();
    this.#database.transaction(() => {
      this.#database.run('DELETE FROM sessions WHERE created_at <= ? OR seen_at <= ?', [
        ...[now - MAX_SECONDS, now - IDLE_SECONDS],
      ]);
      this.#database.run(
        `DELETE FROM sessions WHERE user_id = ?1 AND hash NOT IN
          (SELECT hash FROM sessions WHERE user_id = ?1 ORDER BY seen_at DESC LIMIT ?2)`,
        [userId, MAX_SESSIONS_PER_USER - 1],
      );
      this.#database.run(
        `INSERT INTO sessions (hash, id, user_id, created_at, seen_at, confirmed_at, address, browser)
          VALUES (?1, ?2, ?3, ?4, ?4, ?4, ?5, ?6)`,
        [
          ...[hashOf(secret), randomBytes(8).toString('hex'), userId, now],
          ...[address, browser.slice(0, MAX_BROWSER_LENGTH)],
        ],
      );
    });
    return secret;
  }

  /** The session of a cookie, if it is good still. It counts as used now. */
  find(secret: string): Session | null {
    const now = this.#now();
    const [session] = this.#select('hash = ? AND sessions.created_at > ? AND seen_at > ?', [
      ...[hashOf(secret), now - MAX_SECONDS, now - IDLE_SECONDS],
    ]);
    if (!session) return null;
    if (Math.abs(now - session.seenAt) >= SEEN_EVERY_SECONDS) {
      this.#database.run('UPDATE sessions SET seen_at = ? WHERE id = ?', [now, session.id]);
    }
    return session;
  }

  /** Whether it is good still, without counting as used. */
  isOpen(id: string): boolean {
    const now = this.#now();
    return this.#select('sessions.id = ? AND sessions.created_at > ? AND seen_at > ?', [
      ...[id, now - MAX_SECONDS, now - IDLE_SECONDS],
    ]).some(() => true);
  }

  /** Those of one person, the one used last first. */
  list(userId: string): Session[] {
    const now = this.#now();
    return this.#select('user_id = ? AND sessions.created_at > ? AND seen_at > ?', [
      ...[userId, now - MAX_SECONDS, now - IDLE_SECONDS],
    ]);
  }

  /** Whether the password was typed so short a time ago that it need not be typed again. */
  isConfirmed({ confirmedAt }: Session): boolean {
    const age = this.#now() - confirmedAt;
    return age >= 0 && age < CONFIRMED_SECONDS;
  }

  confirm(id: string): void {
    this.#database.run('UPDATE sessions SET confirmed_at = ? WHERE id = ?', [this.#now(), id]);
  }

  /** Only of this person, so that an id of another's session ends nothing. */
  end(userId: string, id: string): boolean {
    return this.#database.run('DELETE FROM sessions WHERE user_id = ? AND id = ?', [userId, id]) > 0;
  }

  endAll(userId: string): void {
    this.#database.run('DELETE FROM sessions WHERE user_id = ?', [userId]);
  }

  #select(where: string, values: readonly SqlValue[]): Session[] {
    const rows = this.#database.all<SessionRow>(
      `SELECT sessions.*, users.name AS user_name FROM sessions JOIN users ON users.id = user_id
        WHERE ${where} ORDER BY seen_at DESC, sessions.created_at DESC`,
      values,
    );
    return rows.map((row) => ({
      ...{ id: row.id, userId: row.user_id, userName: row.user_name, createdAt: row.created_at, seenAt: row.seen_at },
      ...{ confirmedAt: row.confirmed_at, address: row.address, browser: row.browser },
    }));
  }
}
