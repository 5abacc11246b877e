/** The audit log. Rows are only added: triggers refuse updates and deletions. */
import type { Database } from '../store/database.js';

/** The originator of a change: a dashboard user, an API key, or a local command. */
export interface Actor {
  readonly kind: 'user' | 'key' | 'local' | 'nobody';
  /** Name of the user or id of the key. */
  readonly name: string;
  /** Restricts the actor; null: no restriction. */
  readonly org: string | null;
  readonly app: string | null;
  readonly address: string | null;
}

export const LOCAL_ACTOR: Actor = { kind: 'local', name: 'this machine', org: null, app: null, address: null };

export interface AuditEntry {
  actor: Actor;
  /** For example `key.create`. */
  action: string;
  org?: string | null;
  /** The changed object: the id of a key, or `<org>/<app>`. */
  subject: string;
  detail?: object;
}

export interface AuditRow {
  id: number;
  /** Unix seconds. */
  at: number;
  /** For example `key:0123456789abcdef`. */
  actor: string;
  address: string | null;
  action: string;
  org: string | null;
  subject: string;
  detail: Record<string, unknown>;
}

export interface AuditQuery {
  org?: string | null;
  before?: number | null;
  limit?: number;
}

export const MAX_AUDIT_ROWS = 500;
const MAX_DETAIL_LENGTH = 4000;

export class AuditLog {
  constructor(private readonly database: Database) {}

  /** If the change uses the same database, call this in its transaction. */
  add({ actor, action, org = null, subject, detail = {} }: AuditEntry): void {
    const text = JSON.stringify(detail);
    this.database.run(
      'INSERT INTO audit (at, actor, address, action, org, subject, detail) VALUES (?, ?, ?, ?, ?, ?, ?)',
      [
        Math.floor(Date.now() / 1000),
        `${actor.kind}:${actor.name}`,
        actor.address,
        action,
        org,
        subject,
        text.length > MAX_DETAIL_LENGTH ? JSON.stringify({ too_long: text.length }) : text,
      ],
    );
  }

  /** The newest first. */
  list({ org = null, before = null, limit = 100 }: AuditQuery = {}): AuditRow[] {
    const rows = this.database.all<Omit<AuditRow, 'detail'> & { detail: string }>(
      'SELECT * FROM audit WHERE (?1 IS NULL OR org = ?1) AND (?2 IS NULL OR id < ?2) ORDER BY id DESC LIMIT ?3',
      [org, before, Math.min(limit, MAX_AUDIT_ROWS)],
    );
    return rows.map(({ id, at, actor, address, action, org: ofOrg, subject, detail }) => {
      return { id, at, actor, address, action, org: ofOrg, subject, detail: JSON.parse(detail) };
    });
  }
}
