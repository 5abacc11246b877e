/**
 * Chooses the runner that has probably cached most of the prompt, unless its load makes recomputing elsewhere faster.
 * The caches are unknown: the router infers them from the requests it sent and corrects them by the usage reports.
 *
 * Pure: no clock, timers or sockets. bench/sim replays traffic against it.
 */
import { BlockUses } from './block-uses.js';
import { CachedBlocks } from './cached-blocks.js';

export interface Candidate {
  readonly id: string;
  readonly slots: number;
  readonly running: number;
}

export interface CacheReport {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
}

export interface Decision {
  readonly id: string;
  /** Number of prompt blocks that the runner probably has cached. */
  readonly predicted: number;
  /** Call at the first token: the prompt is computed. */
  prefilled(): void;
  /** Call once, at the end of the request or before another choice; null without a report. */
  finished(report: CacheReport | null): void;
}

/** Costs are in prompt blocks. Decoding a token takes about as long as this many. */
const BLOCKS_PER_DECODED_TOKEN = 1 / 16;

/** Recomputing a block delays its own request and takes time from others. */
const OWN_WEIGHT = 1;
const LOST_WEIGHT = 2;

/**
 * The second cost does not apply if others use the block. A block with more recent uses than this will be reused: no
 * conversation has that many turns.
 */
const MANY_USES = 40;

/** Weight of the newest completion in the average length. */
const NEWEST_WEIGHT = 0.05;
const FIRST_COMPLETION_TOKENS = 150;

/** If fewer than this share of the predicted blocks were cached, the prediction was wrong. */
const MISS_SHARE = 0.5;

interface RunnerState {
  readonly cached: CachedBlocks;
  /** Prompt blocks sent but not computed yet. */
  pending: number;
}

export class PrefixRouter {
  readonly #runners = new Map<string, RunnerState>();
  readonly #uses = new BlockUses();
  #completionTokens = FIRST_COMPLETION_TOKENS;
  #turn = 0;

  /** `candidates` must not be empty. */
  choose(blocks: readonly number[], candidates: readonly Candidate[]): Decision {
    const known = candidates.map(({ id }) => this.#stateOf(id).cached.match(blocks));
    const uncached = this.#costsFrom(blocks, known);
    let best = 0;
    let bestCost = Number.POSITIVE_INFINITY;
    for (let step = 0; step < candidates.length; step++) {
      const at = (step + this.#turn) % candidates.length;
      const cost = (uncached[known[at] as number] as number) + this.#costOf(candidates[at] as Candidate);
      if (cost < bestCost) [best, bestCost] = [at, cost];
    }
    // Tie-break: round robin.
    this.#turn += 1;
    return this.#give((candidates[best] as Candidate).id, blocks, known[best] as number);
  }

  /** Drops all other runners. A restarted runner has an empty cache. */
  keep(ids: ReadonlySet<string>): void {
    for (const id of this.#runners.keys()) if (!ids.has(id)) this.#runners.delete(id);
  }

  /** Cost of computing each block and all after it. `known`: number of cached blocks per candidate. */
  #costsFrom(blocks: readonly number[], known: readonly number[]): Float64Array {
    const uses = this.#uses.add(blocks);
    const costs = new Float64Array(blocks.length + 1);
    const ending = new Uint32Array(blocks.length + 1);
    for (const count of known) ending[count] = (ending[count] as number) + 1;
    let runners = 0;
    for (let at = blocks.length - 1; at >= 0; at--) {
      runners += ending[at + 1] as number;
      const more = Math.max(0, (uses[at] as number) - MANY_USES);
      const lost = Math.min(1, (runners + 1) / more);
      costs[at] = (costs[at + 1] as number) + OWN_WEIGHT + LOST_WEIGHT * lost;
    }
    return costs;
  }

  /** Load of a runner: pending prompts, its share of steps, and the wait for a slot. */
  #costOf({ id, slots, running }: Candidate): number {
    const completion = this.#completionTokens * BLOCKS_PER_DECODED_TOKEN;
    const beside = completion * Math.min(1, running / slots);
    const wait = completion * Math.max(0, (running + 1 - slots) / slots);
    return this.#stateOf(id).pending + beside + wait;
  }

  #give(id: string, blocks: readonly number[], predicted: number): Decision {
    const state = this.#stateOf(id);
    const added = blocks.length - predicted;
    state.pending += added;
    const age = state.cached.add(blocks, predicted);
    let isPending = true;
    const prefilled = (): void => {
      if (isPending) state.pending -= added;
      isPending = false;
    };
    return {
      id,
      predicted,
      prefilled,
      finished: (report) => {
        prefilled();
        if (report === null || report.promptTokens === 0) return;
        this.#completionTokens += NEWEST_WEIGHT * (report.completionTokens - this.#completionTokens);
        if (predicted === 0) return;
        const found = (report.cachedTokens / report.promptTokens) * blocks.length;
        if (found < MISS_SHARE * predicted) state.cached.missed(age);
        else state.cached.hit(age);
      },
    };
  }

  #stateOf(id: string): RunnerState {
    let state = this.#runners.get(id);
    if (state === undefined) {
      state = { cached: new CachedBlocks(), pending: 0 };
      this.#runners.set(id, state);
    }
    return state;
  }
}
