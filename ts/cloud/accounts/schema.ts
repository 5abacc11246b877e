/** The tables of people, their sessions, usage and the audit, in the cloud's database. */
import type { Database } from '../store/database.js';

const STEPS = [
  `CREATE TABLE users (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE COLLATE NOCASE,
    password TEXT,
    created_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE setup_links (
    hash BLOB PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    expires_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE sessions (
    hash BLOB PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    confirmed_at INTEGER NOT NULL,
    address TEXT NOT NULL,
    browser TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX sessions_of_users ON sessions (user_id);

  CREATE TABLE usage_hourly (
    hour INTEGER NOT NULL,
    key_id TEXT NOT NULL,
    org TEXT NOT NULL,
    app TEXT NOT NULL,
    requests INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    ms INTEGER NOT NULL,
    PRIMARY KEY (hour, key_id, org, app)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    address TEXT,
    action TEXT NOT NULL,
    org TEXT,
    subject TEXT NOT NULL,
    detail TEXT NOT NULL
  ) STRICT;
  CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
    BEGIN SELECT RAISE(ABORT, 'the audit can only be added to'); END;
  CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON audit
    BEGIN SELECT RAISE(ABORT, 'the audit can only be added to'); END;`,
  `ALTER TABLE users ADD COLUMN org TEXT;
  ALTER TABLE users ADD COLUMN role TEXT NOT NULL DEFAULT 'owner';

  CREATE TABLE session_keys (
    key_id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;`,
  `ALTER TABLE users ADD COLUMN oidc_issuer TEXT;
  ALTER TABLE users ADD COLUMN oidc_subject TEXT;
  CREATE UNIQUE INDEX users_by_identity ON users (oidc_issuer, oidc_subject) WHERE oidc_subject IS NOT NULL;`,
];

export function migrateAccounts(database: Database): void {
  database.migrate('accounts', STEPS);
}
