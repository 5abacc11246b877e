/** The accounts of a cloud: keys, users, sessions, usage and the audit log. */
import { KeyStore, type KeyStoreOptions } from '../../keys/key-store.js';
import type { CloudKey, KeyRing } from '../gateway/access.js';
import type { Database } from '../store/database.js';
import { AuditLog } from './audit.js';
import { ChangeLimits } from './change-limits.js';
import { Passwords } from './password.js';
import { migrateAccounts } from './schema.js';
import { SessionKeys } from './session-keys.js';
import { Sessions } from './sessions.js';
import { UsageStore } from './usage-store.js';
import { OWNER, Users } from './users.js';

/** A killed process loses at most this much usage. */
const FLUSH_MS = 5000;

export interface AccountsParts {
  database: Database;
  /** Folder of the keys, which `chasqui keys` and servers without a cloud share. */
  home: string;
  /** Of the keys; default: changes wait for the disk. */
  keyStore?: KeyStoreOptions;
  /** Called after a failed write. The next flush retries. Without it, changes throw instead. */
  onError?: (error: unknown) => void;
  flushMs?: number;
}

export interface Accounts {
  readonly keys: KeyStore;
  readonly ring: StoredKeyRing;
  readonly usage: UsageStore;
  readonly audit: AuditLog;
  readonly users: Users;
  readonly sessions: Sessions;
  readonly sessionKeys: SessionKeys;
  readonly changes: ChangeLimits;
  /** Whether no unrestricted owner has a password yet, so a start should print a setup link. */
  needsSetup(): boolean;
  /** Returns the path of a page for setting a password. It works once, for half an hour, and replaces earlier ones. */
  setupPath(name?: string): string;
  /** Runs a change of the databases. If it fails, the next flush repeats it. */
  orLater(change: () => unknown): void;
  /** Writes pending usage. The database stays open. */
  close(): void;
}

export function openAccounts({ database, home, keyStore, onError, flushMs = FLUSH_MS }: AccountsParts): Accounts {
  migrateAccounts(database);
  const keys = KeyStore.open(home, keyStore);
  const sessions = new Sessions(database);
  const sessionKeys = new SessionKeys(database, sessions, keys);
  const ring = new StoredKeyRing(keys, sessionKeys);
  const usage = new UsageStore(database);
  const users = new Users(database, new Passwords());
  const late = new LateChanges();
  const flush = () => {
    for (const part of [late, usage, ring, sessionKeys]) {
      try {
        part.flush();
      } catch (error) {
        onError?.(error);
      }
    }
  };
  const timer = setInterval(flush, flushMs);
  timer.unref();
  return {
    keys,
    ring,
    usage,
    users,
    audit: new AuditLog(database),
    sessions,
    sessionKeys,
    changes: new ChangeLimits(),
    needsSetup: () =>
      !users.list().some(({ hasPassword, org, role }) => hasPassword && org === null && role === 'owner'),
    setupPath: (name = OWNER) => `/dashboard/setup/${users.newLink(users.add(name).id)}`,
    orLater: (change) => {
      try {
        change();
      } catch (error) {
        if (onError === undefined) throw error;
        late.add(change);
        onError(error);
      }
    },
    close: () => {
      clearInterval(timer);
      flush();
      keys.close();
    },
  };
}

class LateChanges {
  #changes: (() => unknown)[] = [];

  add(change: () => unknown): void {
    this.#changes.push(change);
  }

  flush(): void {
    for (let next = this.#changes[0]; next !== undefined; next = this.#changes[0]) {
      next();
      this.#changes.shift();
    }
  }
}

/** The keys for the gateway. Also records when each was last used. */
export class StoredKeyRing implements KeyRing {
  /** Pending times of last use by key id, in Unix seconds. Contains existing keys only. */
  #used = new Map<string, number>();

  constructor(
    private readonly keys: KeyStore,
    private readonly sessionKeys: Pick<SessionKeys, 'isOpen'>,
  ) {}

  check(key: string): CloudKey | null {
    return this.#accept(this.keys.check(key));
  }

  checkId(id: string): CloudKey | null {
    return this.#accept(this.keys.checkId(id));
  }

  #accept(found: CloudKey | null): CloudKey | null {
    if (found === null || !this.sessionKeys.isOpen(found)) return null;
    this.#used.set(found.id, Math.floor(Date.now() / 1000));
    return found;
  }

  /** Throws if the write fails. The next flush retries. */
  flush(): void {
    if (this.#used.size === 0) return;
    this.keys.setLastUsed(this.#used);
    this.#used = new Map();
  }
}
