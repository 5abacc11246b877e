/**
 * How many bytes of request bodies the server holds at a time, of all requests together. When there is no room, the
 * largest body that has not arrived in full makes way for smaller ones: whoever fills the memory is the first to go. And
 * what is too large for a text, so holds images, gets a part of the room only.
 */
import { BYTES_FOR_TEXTS, FREE_BYTES, MAX_TEXT_BYTES, MAX_BYTES_HELD } from './limits.js';

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
  readonly #forImages: number;
  readonly #arriving = new Set<Entry>();
  #held = 0;
  #heldWithImages = 0;

  /** Of `total`, `forTexts` is kept for bodies that may be texts. */
  constructor(total: number, free: number, forTexts: number) {
    this.#total = total;
    this.#free = free;
    this.#forImages = total - forTexts;
  }

  /** A body of as many bytes as any may have must find room. */
  static forBodiesOf(maxBytes: number): BodyBudget {
    return new BodyBudget(Math.max(MAX_BYTES_HELD, 2 * maxBytes), FREE_BYTES, BYTES_FOR_TEXTS);
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
    const grown = entry.bytes + bytes;
    const wanted = this.#charge(grown);
    const more = wanted - this.#charge(entry.bytes);
    const moreWithImages = this.#imageCharge(grown) - this.#imageCharge(entry.bytes);
    const isFull = () =>
      (more > 0 && this.#held + more > this.#total) ||
      (moreWithImages > 0 && this.#heldWithImages + moreWithImages > this.#forImages);
    while (isFull()) {
      const largest = this.#largest();
      if (largest === null || largest === entry || this.#charge(largest.bytes) <= wanted) return false;
      this.#release(largest);
      largest.makeWay();
    }
    this.#held += more;
    this.#heldWithImages += moreWithImages;
    entry.bytes = grown;
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
    this.#heldWithImages -= this.#imageCharge(entry.bytes);
    entry.bytes = 0;
  }

  #charge(bytes: number): number {
    return Math.max(0, bytes - this.#free);
  }

  #imageCharge(bytes: number): number {
    return bytes > MAX_TEXT_BYTES ? this.#charge(bytes) : 0;
  }
}
