/** The queued requests of all apps, in the database of the cloud. Times are milliseconds since 1970. */
import { randomBytes } from 'node:crypto';
import type { Database } from '../store/database.js';

export interface NewRequest {
  org: string;
  app: string;
  keyId: string;
  /** Path and query for the runner. */
  path: string;
  body: Buffer;
  webhook: string | null;
}

export interface QueuedRequest {
  id: string;
  org: string;
  app: string;
  keyId: string;
  state: 'queued' | 'running' | 'done';
  attempts: number;
  createdAt: number;
  startedAt: number | null;
  finishedAt: number | null;
  /** HTTP status of the result. */
  status: number | null;
  /** Content type of the result. */
  type: string | null;
  webhook: string | null;
  /** Next attempt of the webhook; null: none. */
  webhookDue: number | null;
  webhookAttempts: number;
  /** The last failure of the webhook. */
  webhookError: string | null;
}

export interface Result {
  status: number;
  type: string;
  body: Buffer;
}

/** Unfinished requests of an organisation. */
export interface Load {
  count: number;
  bytes: number;
  countOfKey: number;
}

// The blobs are last: SQLite reads the columns before them without the pages of the blobs.
const STEPS = [
  `CREATE TABLE queue_requests (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    org TEXT NOT NULL,
    app TEXT NOT NULL,
    key_id TEXT NOT NULL,
    path TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'queued',
    attempts INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    started_at INTEGER,
    finished_at INTEGER,
    status INTEGER,
    type TEXT,
    bytes INTEGER NOT NULL,
    webhook TEXT,
    webhook_due INTEGER,
    webhook_attempts INTEGER NOT NULL DEFAULT 0,
    webhook_error TEXT,
    body BLOB,
    result BLOB
  ) STRICT;
  CREATE INDEX queue_by_state ON queue_requests (state, org, app, seq, key_id, bytes);
  CREATE INDEX queue_by_webhook ON queue_requests (webhook_due) WHERE webhook_due IS NOT NULL;`,
  "CREATE INDEX queue_by_key ON queue_requests (org, app, key_id, seq) WHERE state = 'queued'",
];

const COLUMNS =
  'id, org, app, key_id AS keyId, state, attempts, created_at AS createdAt, started_at AS startedAt, ' +
  'finished_at AS finishedAt, status, type, webhook, webhook_due AS webhookDue, webhook_attempts AS webhookAttempts, ' +
  'webhook_error AS webhookError';

const UNFINISHED = "state IN ('queued', 'running')";

export class QueueStore {
  constructor(private readonly database: Database) {
    database.migrate('queue', STEPS);
  }

  /** Makes interrupted requests wait again: all that are running but not in `running`. */
  recover(running: Iterable<string>): void {
    this.database.run(
      "UPDATE queue_requests SET state = 'queued' WHERE state = 'running' AND id NOT IN (SELECT value FROM json_each(?))",
      [JSON.stringify([...running])],
    );
  }

  /** Survives a power failure, as an accepted request must. */
  add({ org, app, keyId, path, body, webhook }: NewRequest, now = Date.now()): string {
    const id = randomBytes(16).toString('hex');
    this.database.run(
      `INSERT INTO queue_requests (id, org, app, key_id, path, created_at, due_at, bytes, webhook, body)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, ?8, ?9)`,
      [id, org, app, keyId, path, now, body.length, webhook, body],
    );
    return id;
  }

  find(id: string): QueuedRequest | undefined {
    return this.database.get(`SELECT ${COLUMNS} FROM queue_requests WHERE id = ?`, [id]);
  }

  /** Running requests of the app, then waiting ones in their order, then completed ones, the newest first. */
  list(org: string, app: string, limit: number): QueuedRequest[] {
    const rows: QueuedRequest[] = [];
    for (const [state, order] of [
      ['running', 'ASC'],
      ['queued', 'ASC'],
      ['done', 'DESC'],
    ] as const) {
      // One query per state follows the index, so its cost is that of the returned rows.
      const sql = `SELECT ${COLUMNS} FROM queue_requests WHERE state = ? AND org = ? AND app = ? ORDER BY seq ${order} LIMIT ?`;
      rows.push(...this.database.all<QueuedRequest>(sql, [state, org, app, limit - rows.length]));
    }
    return rows;
  }

  /** Number of requests of the same app that are before this one. */
  position(id: string): number {
    const sql = `SELECT count(*) AS count FROM queue_requests AS own JOIN queue_requests AS other
      ON other.state = 'queued' AND other.org = own.org AND other.app = own.app AND other.seq < own.seq WHERE own.id = ?`;
    return (this.database.get<{ count: number }>(sql, [id]) as { count: number }).count;
  }

  load(org: string, keyId: string): Load {
    const sql = `SELECT count(*) AS count, coalesce(sum(bytes), 0) AS bytes, coalesce(sum(key_id = ?), 0) AS countOfKey
      FROM queue_requests WHERE ${UNFINISHED} AND org = ?`;
    return this.database.get<Load>(sql, [keyId, org]) as Load;
  }

  /** Apps with waiting requests, and how many each has. */
  waiting(): { org: string; app: string; count: number }[] {
    return this.database.all(
      "SELECT org, app, count(*) AS count FROM queue_requests WHERE state = 'queued' GROUP BY org, app",
    );
  }

  /** Returns a request of the app that may start now. Keys take turns: the oldest request of the key after `lastKey`. */
  next(org: string, app: string, lastKey = '', now = Date.now()): QueuedRequest | undefined {
    const sql = `SELECT ${COLUMNS} FROM queue_requests
      WHERE state = 'queued' AND org = ? AND app = ? AND key_id > ? AND due_at <= ? ORDER BY key_id, seq LIMIT 1`;
    const after = (key: string) => this.database.get<QueuedRequest>(sql, [org, app, key, now]);
    return after(lastKey) ?? after('');
  }

  /** Counts an attempt and returns the request's contents. */
  begin(id: string, now = Date.now()): { path: string; body: Buffer } {
    this.database.run(
      "UPDATE queue_requests SET state = 'running', attempts = attempts + 1, started_at = ? WHERE id = ?",
      [now, id],
    );
    const { path, body } = this.database.get('SELECT path, body FROM queue_requests WHERE id = ?', [id]) as {
      path: string;
      body: Uint8Array;
    };
    return { path, body: Buffer.from(body) };
  }

  /** `isAttempt`: whether the attempt counts. */
  requeue(id: string, { isAttempt, dueAt }: { isAttempt: boolean; dueAt: number }): void {
    this.database.run(
      `UPDATE queue_requests SET state = 'queued', attempts = attempts - ?, due_at = ? WHERE id = ? AND state = 'running'`,
      [isAttempt ? 0 : 1, dueAt, id],
    );
  }

  /** Returns false if the request had a result already. */
  finish(id: string, { status, type, body }: Result, now = Date.now()): boolean {
    const sql = `UPDATE queue_requests SET state = 'done', finished_at = ?2, status = ?3, type = ?4, bytes = ?5,
      result = ?6, body = NULL, webhook_due = iif(webhook IS NULL, NULL, ?2) WHERE id = ?1 AND ${UNFINISHED}`;
    return this.database.run(sql, [id, now, status, type, body.length, body]) > 0;
  }

  result(id: string): Buffer {
    const sql = 'SELECT result FROM queue_requests WHERE id = ?';
    return Buffer.from((this.database.get(sql, [id]) as { result: Uint8Array }).result);
  }

  waitingSince(time: number): string[] {
    const sql = "SELECT id FROM queue_requests WHERE state = 'queued' AND created_at < ?";
    return this.database.all<{ id: string }>(sql, [time]).map(({ id }) => id);
  }

  /** Deletes results that are older than `before`, and the oldest results beyond the limits of an organisation. */
  deleteResults({ before, count, bytes }: { before: number; count: number; bytes: number }): void {
    const ranked = `SELECT seq, finished_at, sum(bytes) OVER newest AS bytes, count(*) OVER newest AS count
      FROM queue_requests WHERE state = 'done' AND webhook_due IS NULL
      WINDOW newest AS (PARTITION BY org ORDER BY seq DESC)`;
    this.database.run(
      `DELETE FROM queue_requests WHERE seq IN
       (SELECT seq FROM (${ranked}) WHERE finished_at < ? OR count > ? OR bytes > ?)`,
      [before, count, bytes],
    );
  }

  /** Webhooks to call now, the longest due ones first. `exceptOrgs`: organisations with enough running calls. */
  dueWebhook(exceptOrgs: readonly string[], exceptIds: readonly string[], now = Date.now()): QueuedRequest | undefined {
    const sql = `SELECT ${COLUMNS} FROM queue_requests WHERE webhook_due <= ?
      AND org NOT IN (SELECT value FROM json_each(?)) AND id NOT IN (SELECT value FROM json_each(?))
      ORDER BY webhook_due LIMIT 1`;
    return this.database.get(sql, [now, JSON.stringify(exceptOrgs), JSON.stringify(exceptIds)]);
  }

  /** `due`: the next attempt, or null for none. */
  webhookCalled(id: string, { error, due }: { error: string | null; due: number | null }): void {
    this.database.run(
      `UPDATE queue_requests SET webhook_attempts = webhook_attempts + 1, webhook_error = ?, webhook_due = ?
       WHERE id = ?`,
      [error, due, id],
    );
  }
}
