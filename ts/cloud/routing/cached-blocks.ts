/**
 * Estimates which blocks a runner has cached: the most recently used ones, up to an estimated capacity. Replies adjust
 * the capacity: a hit on an old block raises it, a miss lowers it.
 */

/** Upper bound: 16 million tokens. */
const MAX_BLOCKS = 128 * 1024;
/** Lower bound: less would disable routing by prefix. */
const MIN_BLOCKS = 256;
/** Growth per hit, to recover from a miss. */
const GROWTH = 1.01;

export class CachedBlocks {
  /** Value of `#added` at the last use of each block, in LRU order. */
  readonly #blocks = new Map<number, number>();
  #capacity = MAX_BLOCKS;
  #added = 0;

  get size(): number {
    return this.#blocks.size;
  }

  get capacity(): number {
    return this.#capacity;
  }

  /** Returns how many leading blocks are cached. Eviction starts at the end of a chain, so a binary search suffices. */
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

  /** Marks the blocks as used. Returns the age of the oldest of the first `known` blocks. */
  add(blocks: readonly number[], known: number): number {
    let age = 0;
    for (let at = 0; at < known; at++) {
      age = Math.max(age, this.#added - (this.#blocks.get(blocks[at] as number) ?? this.#added));
    }
    this.#added += blocks.length - known;
    // Touch the first block last, so that it is evicted last.
    for (let at = blocks.length - 1; at >= 0; at--) {
      const block = blocks[at] as number;
      this.#blocks.delete(block);
      this.#blocks.set(block, this.#added);
    }
    this.#trim();
    return age;
  }

  /** Blocks of this age were cached. */
  hit(age: number): void {
    this.#capacity = Math.min(MAX_BLOCKS, Math.max(this.#capacity * GROWTH, age));
  }

  /** Blocks of this age had been evicted. */
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
