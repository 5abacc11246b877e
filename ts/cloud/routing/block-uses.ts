/**
 * How often blocks of prompts were asked for lately. What many prompts begin with is worth computing on several runners;
 * what one conversation has said so far is not.
 */

/** An old use counts less with each request, and after so many a third. */
const LATELY_REQUESTS = 1024;

/** Beginnings that many share come first, and are kept longest. */
const MAX_BLOCKS = 64 * 1024;

interface Use {
  count: number;
  /** The number of the request that used it last. */
  at: number;
}

export class BlockUses {
  /** Those that were used longest ago first. */
  readonly #uses = new Map<number, Use>();
  #requests = 0;

  /** Counts a request. Returns for each of its blocks how often it was used lately, this time included. */
  add(blocks: readonly number[]): Float64Array {
    this.#requests += 1;
    const counts = new Float64Array(blocks.length);
    for (let at = blocks.length - 1; at >= 0; at--) {
      const block = blocks[at] as number;
      const use = this.#uses.get(block);
      const count = 1 + (use === undefined ? 0 : use.count * Math.exp((use.at - this.#requests) / LATELY_REQUESTS));
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
