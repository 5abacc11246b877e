/**
 * Limits the bytes of request bodies that the server holds for all requests together. When there is no room, the
 * largest incomplete body is given up for a smaller one, so the client that fills the memory is the first to be
 * refused. Bodies that are too large to be text, and so hold images, may use a part of the room only.
 */
import { BYTES_FOR_TEXTS, FREE_BYTES, MAX_BYTES_HELD, MAX_TEXT_BYTES } from './limits.js';

/** The room that one body takes. */
export interface Share {
  /** To be called when `bytes` more have arrived. Returns false when there is no room for them and none can be made. */
  grow(bytes: number): boolean;
  /** To be called when the body is complete. From then on it is not given up for others. */
  complete(): void;
  /** To be called when the bytes are no longer held. */
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

  /** Makes a budget with room for two bodies of the largest size. */
  static forBodiesOf(maxBytes: number): BodyBudget {
    return new BodyBudget(Math.max(MAX_BYTES_HELD, 2 * maxBytes), FREE_BYTES, BYTES_FOR_TEXTS);
  }

  /** The bytes that are held now, as far as they count. */
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
