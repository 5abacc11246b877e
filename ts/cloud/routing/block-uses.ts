/**
 * Recent uses of prompt blocks. Prefixes shared by many requests are worth computing on several runners; the history of
 * one conversation is not.
 */

/** Uses decay exponentially: by a factor of e per this many requests. */
const DECAY_REQUESTS = 1024;

/** Least recently used blocks are evicted. Shared prefixes stay longest. */
const MAX_BLOCKS = 64 * 1024;

interface Use {
  count: number;
  /** Number of the last request that used it. */
  at: number;
}

export class BlockUses {
  /** In LRU order. */
  readonly #uses = new Map<number, Use>();
  #requests = 0;

  /** Counts a request. Returns the recent uses of each of its blocks, including this one. */
  add(blocks: readonly number[]): Float64Array {
    this.#requests += 1;
    const counts = new Float64Array(blocks.length);
    for (let at = blocks.length - 1; at >= 0; at--) {
      const block = blocks[at] as number;
      const use = this.#uses.get(block);
      const count = 1 + (use === undefined ? 0 : use.count * Math.exp((use.at - this.#requests) / DECAY_REQUESTS));
      this.#uses.delete(block);
      this.#uses.set(block, { count, at: this.#requests });
      counts[at] = count;
    }
    for (const block of this.#uses.keys()) {
      if (this.#uses.size <= MAX_BLOCKS) break;
      this.#uses.delete(block);
    }
    return counts;
  }
}
