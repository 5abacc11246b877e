/** The table of keys and its migrations. */
import type Database from 'libsql';

type Connection = InstanceType<typeof Database>;

/**
 * `PRAGMA user_version` counts the applied steps. The first one also accepts tables of versions without this counter.
 * Published steps never change; new ones are appended.
 */
const STEPS = [
  `CREATE TABLE IF NOT EXISTS api_keys (
    id TEXT PRIMARY KEY,
    name TEXT,
    org TEXT,
    hash BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
  ) STRICT, WITHOUT ROWID`,
  `ALTER TABLE api_keys ADD COLUMN app TEXT;
  ALTER TABLE api_keys ADD COLUMN scopes TEXT NOT NULL DEFAULT 'call';
  ALTER TABLE api_keys ADD COLUMN expires_at INTEGER;
  ALTER TABLE api_keys ADD COLUMN requests_per_minute INTEGER;
  ALTER TABLE api_keys ADD COLUMN tokens_per_minute INTEGER;
  ALTER TABLE api_keys ADD COLUMN concurrency INTEGER;
  ALTER TABLE api_keys ADD COLUMN body_bytes INTEGER;
  ALTER TABLE api_keys ADD COLUMN last_used_at INTEGER`,
];

/** Applies the missing steps. Safe to run in several processes at the same time. */
export function migrateKeys(database: Connection): void {
  if (versionOf(database) === STEPS.length) return;
  database.exec('BEGIN IMMEDIATE');
  try {
    // Another process may have migrated the file during the wait.
    const version = versionOf(database);
    if (version > STEPS.length) throw new Error('it was written by a newer version of chasqui; install that version');
    for (const step of STEPS.slice(version)) database.exec(step);
    database.exec(`PRAGMA user_version = ${STEPS.length}`);
    database.exec('COMMIT');
  } catch (error) {
    if (database.inTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

function versionOf(database: Connection): number {
  return (database.prepare('PRAGMA user_version').get() as { user_version: number }).user_version;
}
