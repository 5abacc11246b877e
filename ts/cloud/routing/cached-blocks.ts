/**
 * Which blocks a runner is believed to have in its cache: those that were used last, as many as it seems to hold. How
 * many that is shows from the replies: a block that was found after so many others was held for so long, one that was
 * not found was not.
 */

/** No runner holds more: 16 million tokens. */
const MAX_BLOCKS = 128 * 1024;
/** Believing in less than this would mean to give up routing by prefix. */
const MIN_BLOCKS = 256;
/** With each hit it is believed to hold a little more, so that one miss is not for ever. */
const GROWTH = 1.01;

export class CachedBlocks {
  /** Each block, with the count of blocks added before it was used last. The oldest come first. */
  readonly #blocks = new Map<number, number>();
  #capacity = MAX_BLOCKS;
  #added = 0;

  get size(): number {
    return this.#blocks.size;
  }

  get capacity(): number {
    return this.#capacity;
  }

  /** How many of the first blocks it has. A chain is forgotten from its end, so the middle tells of all before it. */
  match(blocks: readonly number[]): number {
    let known = 0;
    let unknown = blocks.length + 1;
    while (unknown - known > 1) {
      const middle = (known + unknown) >>> 1;
      if (this.#blocks.has(blocks[middle - 1] as number)) known = middle;
      else unknown = middle;
    }
    return known;
  }

  /** Counts the blocks as used now. Returns the age of the oldest of the `known` first ones. */
  add(blocks: readonly number[], known: number): number {
    let age = 0;
    for (let at = 0; at < known; at++) {
      age = Math.max(age, this.#added - (this.#blocks.get(blocks[at] as number) ?? this.#added));
    }
    this.#added += blocks.length - known;
    // The first block is used last, so that it is forgotten last.
    for (let at = blocks.length - 1; at >= 0; at--) {
      const block = blocks[at] as number;
      this.#blocks.delete(block);
      this.#blocks.set(block, this.#added);
    }
    this.#trim();
    return age;
  }

  /** Blocks of this age were there. */
  hit(age: number): void {
    this.#capacity = Math.min(MAX_BLOCKS, Math.max(this.#capacity * GROWTH, age));
  }

  /** Blocks of this age were not there any more. */
  missed(age: number): void {
    this.#capacity = Math.max(MIN_BLOCKS, Math.min(this.#capacity, age));
    this.#trim();
  }

  #trim(): void {
    for (const block of this.#blocks.keys()) {
      if (this.#blocks.size <= this.#capacity) return;
      this.#blocks.delete(block);
    }
  }
}
