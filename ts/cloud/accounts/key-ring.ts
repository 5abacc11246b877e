/** The keys as the gateway asks about them, and when each was used last. */
import type { KeyStore } from '../../keys/key-store.js';
import type { CloudKey, KeyRing } from '../gateway/access.js';

export class StoredKeyRing implements KeyRing {
  readonly #keys: KeyStore;
  /** Unix seconds of what has not been written down yet. It holds keys that exist only. */
  #used = new Map<string, number>();

  constructor(keys: KeyStore) {
    this.#keys = keys;
  }

  check(key: string): CloudKey | null {
    const now = Date.now() / 1000;
    const found = this.#keys.check(key, now);
    if (found) this.#used.set(found.id, Math.floor(now));
    return found;
  }

  /** Throws when it cannot be written; the next time tries again. */
  flush(): void {
    if (this.#used.size === 0) return;
    this.#keys.used(this.#used);
    this.#used = new Map();
  }
}
