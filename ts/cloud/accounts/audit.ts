/** Who changed what, and when. Rows are added only: the database itself refuses to change or delete one. */
import type { Database } from '../store/database.js';

/** Who does something: a person in the dashboard, a program with a key, or someone with an account on this machine. */
export interface Actor {
  readonly kind: 'user' | 'key' | 'local' | 'nobody';
  /** The person's name, or the key's id. */
  readonly name: string;
  /** What the actor may see and change at most; null is everything. */
  readonly org: string | null;
  readonly app: string | null;
  readonly address: string | null;
}

export const LOCAL_ACTOR: Actor = { kind: 'local', name: 'this machine', org: null, app: null, address: null };

export interface AuditEntry {
  actor: Actor;
  /** Such as `key.create`. */
  action: string;
  /** The organisation that it concerns, where it concerns one. */
  org?: string | null;
  /** What was changed: a key's id, or `<org>/<app>`. */
  subject: string;
  detail?: object;
}

export interface AuditRow {
  id: number;
  /** Unix seconds. */
  at: number;
  /** Such as `key:0123456789abcdef`. */
  actor: string;
  address: string | null;
  action: string;
  org: string | null;
  subject: string;
  detail: Record<string, unknown>;
}

export interface AuditQuery {
  org?: string | null;
  /** Only what was before the row of this id. */
  before?: number | null;
  limit?: number;
}

export const MAX_AUDIT_ROWS = 500;
const MAX_DETAIL_LENGTH = 4000;

export class AuditLog {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** To be called in the transaction of the change itself, where that is one of the same database. */
  add({ actor, action, org = null, subject, detail = {} }: AuditEntry): void {
    const text = JSON.stringify(detail);
    this.#database.run(
      'INSERT INTO audit (at, actor, address, action, org, subject, detail) VALUES (?, ?, ?, ?, ?, ?, ?)',
      [
        ...[Math.floor(Date.now() / 1000), `${actor.kind}:${actor.name}`, actor.address, action, org, subject],
        text.length > MAX_DETAIL_LENGTH ? JSON.stringify({ too_long: text.length }) : text,
      ],
    );
  }

  /** The newest first. */
  list({ org = null, before = null, limit = 100 }: AuditQuery = {}): AuditRow[] {
    const rows = this.#database.all<Omit<AuditRow, 'detail'> & { detail: string }>(
      'SELECT * FROM audit WHERE (?1 IS NULL OR org = ?1) AND (?2 IS NULL OR id < ?2) ORDER BY id DESC LIMIT ?3',
      [org, before, Math.min(limit, MAX_AUDIT_ROWS)],
    );
    return rows.map(({ id, at, actor, address, action, org: ofOrg, subject, detail }) => {
      return { id, at, actor, address, action, org: ofOrg, subject, detail: JSON.parse(detail) };
    });
  }
}
