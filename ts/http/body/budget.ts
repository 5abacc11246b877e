/**
 * How many bytes of request bodies the server holds at a time, of all requests together. When there is no room, the
 * largest body that has not arrived in full makes way for smaller ones: whoever fills the memory is the first to go.
 */
import { FREE_BYTES, MOST_BYTES_HELD } from './limits.js';

/** What one body takes. */
export interface Share {
  /** Called when `bytes` more have arrived. False: there is no room for them, and none is made. */
  grow(bytes: number): boolean;
  /** The body is there in full: from now on it makes way for nobody. */
  complete(): void;
  /** Its bytes are not held any more. */
  release(): void;
}

interface Entry {
  bytes: number;
  makeWay(): void;
}

export class BodyBudget {
  readonly #total: number;
  readonly #free: number;
  readonly #arriving = new Set<Entry>();
  #held = 0;

  constructor(total: number, free = FREE_BYTES) {
    this.#total = total;
    this.#free = free;
  }

  /** A body of as many bytes as any may have must find room. */
  static forBodiesOf(largest: number): BodyBudget {
    return new BodyBudget(Math.max(MOST_BYTES_HELD, 2 * largest));
  }

  /** What counts of the bodies that are held now. */
  get held(): number {
    return this.#held;
  }

  /** `makeWay` is called when others need the room; the share is released then. */
  open(makeWay: () => void): Share {
    const entry: Entry = { bytes: 0, makeWay };
    this.#arriving.add(entry);
    return {
      grow: (bytes) => this.#grow(entry, bytes),
      complete: () => void this.#arriving.delete(entry),
      release: () => this.#release(entry),
    };
  }

  #grow(entry: Entry, bytes: number): boolean {
    const wanted = this.#charge(entry.bytes + bytes);
    const more = wanted - this.#charge(entry.bytes);
    while (this.#held + more > this.#total && more > 0) {
      const largest = this.#largest();
      if (largest === null || largest === entry || this.#charge(largest.bytes) <= wanted) return false;
      this.#release(largest);
      largest.makeWay();
    }
    this.#held += more;
    entry.bytes += bytes;
    return true;
  }

  #largest(): Entry | null {
    let largest: Entry | null = null;
    for (const entry of this.#arriving) if (entry.bytes > (largest?.bytes ?? -1)) largest = entry;
    return largest;
  }

  #release(entry: Entry): void {
    this.#arriving.delete(entry);
    this.#held -= this.#charge(entry.bytes);
    entry.bytes = 0;
  }

  #charge(bytes: number): number {
    return Math.max(0, bytes - this.#free);
  }
}
