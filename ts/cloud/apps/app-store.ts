/** Database tables of apps, revisions, runners and the events of their state changes. */
import { randomBytes } from 'node:crypto';
import type { ErrorCode } from '../../errors.js';
import type { IsolationName } from '../runners/runner-process.js';
import type { Database, SqlValue } from '../store/database.js';

/** RETIRED and FAILED are final. */
export type RevisionState =
  | 'CREATED'
  | 'FETCHING'
  | 'STARTING'
  | 'READY'
  | 'ACTIVE'
  | 'DRAINING'
  | 'RETIRED'
  | 'FAILED';
export type RunnerState = 'LOADING' | 'WARMING' | 'READY' | 'DRAINING' | 'STOPPED' | 'CRASHED';
export type Strategy = 'rolling' | 'recreate';

export interface AppRow {
  id: string;
  org: string;
  name: string;
  active: number | null;
  /** Set by `apps scale`; null: the value of the script. */
  scale_min: number | null;
  scale_max: number | null;
  /** Whether requests need a key. Deployments change it, rollbacks do not. */
  auth: 'private' | 'public';
  /** Number of the revision that makes the app public when it becomes active. */
  public_with: number | null;
  failure_code: ErrorCode | null;
  failure_message: string | null;
  /** 1: deleted, but some of its runners still run. */
  deleted: number;
  created_at: number;
}

export interface RevisionRow {
  app: string;
  number: number;
  /** The manifest as canonical JSON. */
  options: string;
  /** JSON: size and digest of each file on this machine. */
  files: string;
  digest: string;
  message: string | null;
  author: string;
  strategy: Strategy;
  state: RevisionState;
  reason: string | null;
  created_at: number;
  /** 1: deployed on this machine, so its models may come from any address. */
  is_local: number;
  /** When it last became active; null: never. */
  activated_at: number | null;
}

export type ShownRevision = Omit<RevisionRow, 'app' | 'files' | 'is_local' | 'options'> & { options: string | null };

export interface RunnerRow {
  id: string;
  app: string;
  revision: number;
  state: RunnerState;
  boot_id: string;
  pid: number | null;
  bytes: number;
  isolation: IsolationName;
  /** GPUs that no other runner uses, separated by commas. */
  gpus: string;
  reason: string | null;
  created_at: number;
  ended_at: number | null;
}

export interface EventRow {
  seq: number;
  at: number;
  org: string;
  app: string;
  revision: number | null;
  runner: string | null;
  state: string;
  reason: string;
}

/** Times are milliseconds since 1970. */
const STEPS = [
  `CREATE TABLE apps (
    id TEXT PRIMARY KEY,
    org TEXT NOT NULL,
    name TEXT NOT NULL,
    active INTEGER,
    scale_min INTEGER,
    scale_max INTEGER,
    failure_code TEXT,
    failure_message TEXT,
    deleted INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX apps_by_name ON apps (org, name) WHERE deleted = 0;
  CREATE TABLE revisions (
    app TEXT NOT NULL REFERENCES apps (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    options TEXT NOT NULL,
    files TEXT NOT NULL,
    digest TEXT NOT NULL,
    message TEXT,
    author TEXT NOT NULL,
    strategy TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT,
    created_at INTEGER NOT NULL,
    activated_at INTEGER,
    PRIMARY KEY (app, number)
  ) STRICT;
  CREATE TABLE runners (
    id TEXT PRIMARY KEY,
    app TEXT NOT NULL REFERENCES apps (id) ON DELETE CASCADE,
    revision INTEGER NOT NULL,
    state TEXT NOT NULL,
    boot_id TEXT NOT NULL,
    pid INTEGER,
    bytes INTEGER NOT NULL,
    reason TEXT,
    created_at INTEGER NOT NULL,
    ended_at INTEGER
  ) STRICT;
  CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    org TEXT NOT NULL,
    app TEXT NOT NULL,
    revision INTEGER,
    runner TEXT,
    state TEXT NOT NULL,
    reason TEXT NOT NULL
  ) STRICT;
  CREATE INDEX events_by_app ON events (org, app, seq);`,
  `ALTER TABLE runners ADD COLUMN isolation TEXT NOT NULL DEFAULT 'process'`,
  // A restart used to change the author, so only apps without any remote author count as local.
  `ALTER TABLE revisions ADD COLUMN is_local INTEGER NOT NULL DEFAULT 0;
  UPDATE revisions SET is_local = 1 WHERE app NOT IN
    (SELECT app FROM revisions WHERE author LIKE 'key %' OR author LIKE 'user %');`,
  `ALTER TABLE apps ADD COLUMN auth TEXT NOT NULL DEFAULT 'private';
  ALTER TABLE apps ADD COLUMN public_with INTEGER;
  UPDATE apps SET auth = 'public' WHERE EXISTS (SELECT 1 FROM revisions WHERE app = apps.id
    AND number = COALESCE(active, (SELECT MAX(number) FROM revisions WHERE app = apps.id))
    AND json_extract(options, '$.auth') = 'public');`,
  `ALTER TABLE runners ADD COLUMN gpus TEXT NOT NULL DEFAULT ''`,
];

const MAX_EVENTS_PER_APP = 10_000;
/** Final revisions are forgotten, apart from the newest and from those that were active last. */
const KEPT_REVISIONS = 100;
const KEPT_ACTIVATED = 20;
/** Larger options of many revisions take milliseconds to read and parse. */
const SHOWN_OPTIONS = 16_384;
/** Rows of ended runners are kept this long. */
const KEPT_RUNNERS_MS = 24 * 3_600_000;

export class AppStore {
  constructor(private readonly database: Database) {
    database.migrate('apps', STEPS);
  }

  apps(): AppRow[] {
    return this.database.all('SELECT * FROM apps ORDER BY org, name');
  }

  app(id: string): AppRow | undefined {
    return this.database.get('SELECT * FROM apps WHERE id = ?', [id]);
  }

  revisions(app: string): RevisionRow[] {
    return this.database.all('SELECT * FROM revisions WHERE app = ? ORDER BY number', [app]);
  }

  /** Revisions that are active or not final, without those that only a rollback needs. */
  usedRevisions(app: string): RevisionRow[] {
    return this.database.all(
      `SELECT * FROM revisions WHERE app = ?1 AND (state NOT IN ('RETIRED', 'FAILED')
         OR number = (SELECT active FROM apps WHERE id = ?1)) ORDER BY number`,
      [app],
    );
  }

  /** The newest `count` revisions, without large options, and some `others`. The newest last. */
  newestRevisions(app: string, count: number, others: readonly (number | null)[]): ShownRevision[] {
    return this.database.all(
      `SELECT number, state, reason, digest, message, author, strategy, created_at, activated_at,
         iif(length(options) <= ${SHOWN_OPTIONS} OR number IN (SELECT value FROM json_each(?3)), options, NULL) AS options
       FROM revisions WHERE app = ?1 AND (number IN (SELECT value FROM json_each(?3)) OR
         number IN (SELECT number FROM revisions WHERE app = ?1 ORDER BY number DESC LIMIT ?2)) ORDER BY number`,
      [app, count, JSON.stringify(others)],
    );
  }

  revision(app: string, number: number): RevisionRow | undefined {
    return this.database.get('SELECT * FROM revisions WHERE app = ? AND number = ?', [app, number]);
  }

  /** Runners that have not ended; with `ended`, all. */
  runners(app: string, { ended = false } = {}): RunnerRow[] {
    const which = ended ? '' : "AND state NOT IN ('STOPPED', 'CRASHED')";
    return this.database.all(`SELECT * FROM runners WHERE app = ? ${which} ORDER BY created_at, id`, [app]);
  }

  /** Ages in milliseconds of the crashes since the revision was last activated, the oldest first. */
  crashAges(app: string, revision: number, maxAgeMs: number): number[] {
    const now = Date.now();
    const rows = this.database.all<{ at: number }>(
      `SELECT ended_at AS at FROM runners JOIN revisions ON revisions.app = runners.app AND number = revision
       WHERE runners.app = ? AND revision = ? AND runners.state = 'CRASHED' AND ended_at >= COALESCE(activated_at, 0)
       ORDER BY ended_at`,
      [app, revision],
    );
    // The system clock may have been set back.
    return rows.map(({ at }) => Math.max(0, now - at)).filter((age) => age < maxAgeMs);
  }

  /** Newest last. */
  events(org: string, app: string, after: number, limit: number): EventRow[] {
    const rows = this.database.all<EventRow>(
      'SELECT * FROM events WHERE org = ? AND app = ? AND seq > ? ORDER BY seq DESC LIMIT ?',
      [org, app, after, limit],
    );
    return rows.reverse();
  }

  /** Number of the newest event; 0 without events. */
  lastEvent(): number {
    const row = this.database.get<{ last: number | null }>('SELECT MAX(seq) AS last FROM events');
    return row?.last ?? 0;
  }

  addApp(org: string, name: string): AppRow {
    const id = `app-${randomBytes(16).toString('hex')}`;
    this.database.run('INSERT INTO apps (id, org, name, created_at) VALUES (?, ?, ?, ?)', [id, org, name, Date.now()]);
    return this.app(id) as AppRow;
  }

  addRevision(
    app: AppRow,
    row: Pick<RevisionRow, 'options' | 'files' | 'digest' | 'message' | 'author' | 'strategy' | 'is_local'>,
  ): number {
    return this.database.transaction(() => {
      const { last } = this.database.get<{ last: number | null }>(
        'SELECT MAX(number) AS last FROM revisions WHERE app = ?',
        [app.id],
      ) ?? { last: null };
      const number = (last ?? 0) + 1;
      this.database.run(
        `INSERT INTO revisions
           (app, number, options, files, digest, message, author, strategy, is_local, state, created_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'CREATED', ?)`,
        [
          app.id,
          number,
          row.options,
          row.files,
          row.digest,
          row.message,
          row.author,
          row.strategy,
          row.is_local,
          Date.now(),
        ],
      );
      this.#addEvent(app, number, null, 'CREATED', row.message ?? `deployed by ${row.author}`);
      this.#forgetOld(app);
      return number;
    });
  }

  setRevision(app: AppRow, number: number, state: RevisionState, reason: string): void {
    this.database.transaction(() => {
      this.database.run('UPDATE revisions SET state = ?, reason = ? WHERE app = ? AND number = ?', [
        state,
        reason,
        app.id,
        number,
      ]);
      this.#addEvent(app, number, null, state, reason);
    });
  }

  /** Makes the revision active and clears the app's failure. */
  activate(app: AppRow, number: number, reason: string): void {
    this.database.transaction(() => {
      const { active: previous = null, public_with: publicWith } = this.app(app.id) ?? {};
      this.set(app.id, { active: number, failure_code: null, failure_message: null });
      if (publicWith === number) this.set(app.id, { auth: 'public', public_with: null });
      this.database.run('UPDATE revisions SET activated_at = ? WHERE app = ? AND number = ?', [
        Date.now(),
        app.id,
        number,
      ]);
      this.setRevision(app, number, 'ACTIVE', reason);
      if (previous === null || previous === number) return;
      if (this.revision(app.id, previous)?.state === 'ACTIVE') {
        this.setRevision(app, previous, 'DRAINING', `replaced by revision ${number}`);
      }
    });
  }

  set(app: string, columns: Partial<Omit<AppRow, 'id'>>): void {
    const names = Object.keys(columns);
    const values = Object.values(columns) as SqlValue[];
    this.database.run(`UPDATE apps SET ${names.map((name) => `${name} = ?`).join(', ')} WHERE id = ?`, [
      ...values,
      app,
    ]);
  }

  removeApp(app: AppRow): void {
    this.database.run('DELETE FROM apps WHERE id = ?', [app.id]);
  }

  addRunner(
    app: AppRow,
    row: Pick<RunnerRow, 'id' | 'revision' | 'boot_id' | 'bytes' | 'isolation' | 'gpus'>,
    reason: string,
  ): void {
    this.database.transaction(() => {
      this.database.run(
        `INSERT INTO runners (id, app, revision, state, boot_id, bytes, isolation, gpus, created_at)
         VALUES (?, ?, ?, 'LOADING', ?, ?, ?, ?, ?)`,
        [row.id, app.id, row.revision, row.boot_id, row.bytes, row.isolation, row.gpus, Date.now()],
      );
      this.#addEvent(app, row.revision, row.id, 'LOADING', reason);
      this.#forgetOld(app);
    });
  }

  setPid(runner: string, pid: number | null): void {
    this.database.run('UPDATE runners SET pid = ? WHERE id = ?', [pid, runner]);
  }

  setRunner(app: AppRow, runner: string, revision: number, state: RunnerState, reason: string): void {
    this.database.transaction(() => {
      const ended = state === 'STOPPED' || state === 'CRASHED' ? Date.now() : null;
      this.database.run('UPDATE runners SET state = ?, reason = ?, ended_at = ? WHERE id = ?', [
        state,
        reason,
        ended,
        runner,
      ]);
      this.#addEvent(app, revision, runner, state, reason);
    });
  }

  note(app: AppRow, state: string, reason: string): void {
    this.#addEvent(app, null, null, state, reason);
  }

  #addEvent(app: AppRow, revision: number | null, runner: string | null, state: string, reason: string): void {
    this.database.run(
      'INSERT INTO events (at, org, app, revision, runner, state, reason) VALUES (?, ?, ?, ?, ?, ?, ?)',
      [Date.now(), app.org, app.name, revision, runner, state, reason],
    );
  }

  /** Revisions are final, and not the active one, before they are forgotten. */
  #forgetOld(app: AppRow): void {
    this.database.run(
      `DELETE FROM revisions WHERE app = ?1 AND state IN ('RETIRED', 'FAILED')
         AND number IS NOT (SELECT active FROM apps WHERE id = ?1)
         AND number <= (SELECT MAX(number) FROM revisions WHERE app = ?1) - ${KEPT_REVISIONS}
         AND number NOT IN (SELECT number FROM revisions WHERE app = ?1 AND activated_at IS NOT NULL
           ORDER BY activated_at DESC LIMIT ${KEPT_ACTIVATED})`,
      [app.id],
    );
    this.database.run('DELETE FROM runners WHERE app = ? AND ended_at < ?', [app.id, Date.now() - KEPT_RUNNERS_MS]);
    this.database.run(
      `DELETE FROM events WHERE org = ?1 AND app = ?2 AND seq <=
         (SELECT seq FROM events WHERE org = ?1 AND app = ?2 ORDER BY seq DESC LIMIT 1 OFFSET ${MAX_EVENTS_PER_APP})`,
      [app.org, app.name],
    );
  }
}
