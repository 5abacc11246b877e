/** API keys that end with a session of the dashboard. */
import { isValid, type KeyStore } from '../../keys/key-store.js';
import type { CloudKey } from '../gateway/access.js';
import type { Database } from '../store/database.js';
import { may, type Sessions } from './sessions.js';

export class SessionKeys {
  /** Ids of sessions by those of keys. Contains recent keys only, so most checks end here. */
  readonly #sessionIds: Map<string, string>;

  constructor(
    private readonly database: Database,
    private readonly sessions: Pick<Sessions, 'open'>,
    private readonly keys: KeyStore,
  ) {
    const rows = database.all<{ keyId: string; sessionId: string }>(
      'SELECT key_id AS keyId, session_id AS sessionId FROM session_keys',
    );
    this.#sessionIds = new Map(rows.map(({ keyId, sessionId }) => [keyId, sessionId]));
  }

  add(keyId: string, sessionId: string): void {
    this.database.run('INSERT INTO session_keys (key_id, session_id) VALUES (?, ?)', [keyId, sessionId]);
    this.#sessionIds.set(keyId, sessionId);
  }

  /** False if the session of the key has ended, or if its user has lost the right to call the organisation of the key. */
  isOpen({ id, org }: Pick<CloudKey, 'id' | 'org'>): boolean {
    const sessionId = this.#sessionIds.get(id);
    if (sessionId === undefined) return true;
    const session = this.sessions.open(sessionId);
    return session !== null && may(session, 'call') && (session.userOrg === null || session.userOrg === org);
  }

  /** Revokes the keys of ended sessions in the key store, which other servers use too. */
  flush(now = Date.now() / 1000): void {
    for (const id of [...this.#sessionIds.keys()]) {
      const key = this.keys.find(id);
      if (key !== null && isValid(key, now) && this.isOpen(key)) continue;
      this.keys.revoke(id);
      this.database.run('DELETE FROM session_keys WHERE key_id = ?', [id]);
      this.#sessionIds.delete(id);
    }
  }
}
