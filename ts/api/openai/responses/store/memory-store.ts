/** Stored responses in memory, for servers without a data folder. They end with the process. */
import {
  asConversation,
  idOf,
  itemIdsOf,
  MEMORY_LIMITS,
  type ResponseStore,
  type Stored,
  type StoredConversation,
  type StoreLimits,
} from './response-store.js';

interface Entry {
  /** Text takes less than objects, and its length is known. */
  json: string;
  isResponse: boolean;
  itemIds: readonly string[];
  expiresAt: number;
}

class Owned {
  bytes = 0;
  /** The least recently used ones first. */
  readonly entries = new Map<string, Entry>();
  /** Maps an item to the entries that contain it, the latest entry last. */
  readonly holders = new Map<string, Set<string>>();
}

export class MemoryStore implements ResponseStore {
  readonly #owners = new Map<string, Owned>();
  #count = 0;
  #bytes = 0;

  constructor(
    private readonly limits: StoreLimits = MEMORY_LIMITS,
    private readonly now: () => number = Date.now,
  ) {}

  put(owner: string, stored: Stored): void {
    const id = idOf(stored);
    this.delete(owner, id);
    const entry = {
      json: JSON.stringify(stored),
      isResponse: 'response' in stored,
      itemIds: itemIdsOf(stored),
      expiresAt: this.now() + this.limits.maxAgeMs,
    };
    const owned = this.#owners.get(owner) ?? new Owned();
    this.#owners.set(owner, owned);
    owned.entries.set(id, entry);
    for (const item of entry.itemIds) {
      const holders = owned.holders.get(item) ?? new Set();
      owned.holders.set(item, holders.add(id));
    }
    this.#add(owned, entry, 1);
    this.#makeRoom();
  }

  read(owner: string, id: string): Stored | null {
    const owned = this.#owners.get(owner);
    const entry = owned?.entries.get(id);
    if (!owned || !entry) return null;
    if (entry.expiresAt <= this.now()) {
      this.delete(owner, id);
      return null;
    }
    owned.entries.delete(id);
    owned.entries.set(id, entry);
    return JSON.parse(entry.json) as Stored;
  }

  list(owner: string, prefix: string): Stored[] {
    const entries = [...(this.#owners.get(owner)?.entries ?? [])];
    const found = entries.filter(([id, entry]) => id.startsWith(prefix) && this.#lives(entry));
    return found.map(([, { json }]) => JSON.parse(json) as Stored);
  }

  change(
    owner: string,
    id: string,
    change: (stored: StoredConversation) => StoredConversation,
  ): StoredConversation | null {
    const stored = asConversation(this.read(owner, id));
    if (stored === null) return null;
    const changed = change(stored);
    this.put(owner, changed);
    return changed;
  }

  holderOf(owner: string, itemId: string): string | null {
    const owned = this.#owners.get(owner);
    const ids = [...(owned?.holders.get(itemId) ?? [])].filter((id) => this.#lives(owned?.entries.get(id)));
    return ids.findLast((id) => owned?.entries.get(id)?.isResponse) ?? ids.at(-1) ?? null;
  }

  delete(owner: string, id: string): boolean {
    const owned = this.#owners.get(owner);
    const entry = owned?.entries.get(id);
    if (!owned || !entry) return false;
    owned.entries.delete(id);
    for (const item of entry.itemIds) {
      const holders = owned.holders.get(item);
      holders?.delete(id);
      if (holders?.size === 0) owned.holders.delete(item);
    }
    this.#add(owned, entry, -1);
    if (owned.entries.size === 0) this.#owners.delete(owner);
    return entry.expiresAt > this.now();
  }

  close(): void {
    this.#owners.clear();
  }

  #lives(entry: Entry | undefined): boolean {
    return entry !== undefined && entry.expiresAt > this.now();
  }

  #add(owned: Owned, { json }: Entry, sign: 1 | -1): void {
    const bytes = sign * 2 * json.length;
    owned.bytes += bytes;
    this.#bytes += bytes;
    this.#count += sign;
  }

  #makeRoom(): void {
    const { maxResponses, maxBytes } = this.limits;
    while (this.#count > maxResponses || this.#bytes > maxBytes) {
      const [owner, owned] = this.#largest();
      const [id] = owned.entries.keys();
      this.delete(owner, id as string);
    }
  }

  #largest(): [string, Owned] {
    return [...this.#owners].reduce((one, other) => (other[1].bytes > one[1].bytes ? other : one));
  }
}
