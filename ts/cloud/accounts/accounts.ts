/** Everything that a cloud knows of people and programs: who may do what, who did what, who used how much. */
import { KeyStore } from '../../keys/key-store.js';
import type { Database } from '../store/database.js';
import { AuditLog } from './audit.js';
import { StoredKeyRing } from './key-ring.js';
import { Passwords } from './password.js';
import { migrateAccounts } from './schema.js';
import { Sessions } from './sessions.js';
import { UsageStore } from './usage-store.js';
import { OWNER, Users } from './users.js';

/** What a process that is killed loses of usage at most. */
const FLUSH_MS = 5000;

export interface AccountsParts {
  database: Database;
  /** The folder of the keys, which `chasqui keys` and servers without a cloud use as well. */
  home: string;
  /** Called when what was used could not be written down, which is tried again. */
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
  /** Whether nobody has set a password yet: then a start shows a link. */
  needsSetup(): boolean;
  /**
   * Returns the path of a page on which a person sets a password: it works once, within half an hour, and ends those
   * before it.
   */
  setupPath(name?: string): string;
  /** Writes down what was used. The database stays open. */
  close(): void;
}

export function openAccounts({ database, home, onError, flushMs = FLUSH_MS }: AccountsParts): Accounts {
  migrateAccounts(database);
  const keys = KeyStore.open(home);
  const ring = new StoredKeyRing(keys);
  const usage = new UsageStore(database);
  const users = new Users(database, new Passwords());
  const flush = () => {
    for (const part of [usage, ring]) {
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
    ...{ keys, ring, usage, users, audit: new AuditLog(database), sessions: new Sessions(database) },
    needsSetup: () => !users.list().some(({ hasPassword }) => hasPassword),
    setupPath: (name = OWNER) => `/dashboard/setup/${users.newLink(users.add(name).id)}`,
    close: () => {
      clearInterval(timer);
      flush();
      keys.close();
    },
  };
}
