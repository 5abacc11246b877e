/**
 * Chooses the runner for a request: the one that is likely to have computed the most of its prompt already, unless it has
 * so much to do that computing the prompt anew elsewhere is done earlier. What a runner has in its cache is not known; it
 * is concluded from what was sent there, and corrected by what each reply says of it.
 *
 * Pure: no clock, no timers, no sockets. bench/sim plays traffic to it.
 */
import { BlockUses } from './block-uses.js';
import { CachedBlocks } from './cached-blocks.js';

/** A runner that can take the request. */
export interface Candidate {
  readonly id: string;
  readonly slots: number;
  /** Requests that it has. */
  readonly running: number;
}

/** What a reply said when it was over. */
export interface CacheReport {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
}

/** A choice, until its request is over. */
export interface Decision {
  readonly id: string;
  /** How many of the prompt's blocks the runner was believed to have. */
  readonly predicted: number;
  /** To be called when the first token has come: the prompt is computed. */
  prefilled(): void;
  /** To be called once, when the request is over or another runner has it; null where no reply has said anything. */
  finished(report: CacheReport | null): void;
}

/** Work is counted in blocks of prompt. A token that is decoded takes about as long as so many blocks. */
const BLOCKS_PER_DECODED_TOKEN = 1 / 16;

/** A block that is computed twice costs the request that waits for it, and all that could be computed meanwhile. */
const OWN_WEIGHT = 1;
const LOST_WEIGHT = 2;

/**
 * That second part is not lost where others use what was computed. What was asked for more often than this lately is taken
 * to go on being asked for, and shares it: no conversation has as many turns.
 */
const MANY_USES = 40;

/** How much the newest completion counts in the average length. */
const NEWEST = 0.05;
const FIRST_COMPLETION_TOKENS = 150;

/** Below this share of what was predicted, the prediction was wrong rather than inexact. */
const MISSED = 0.5;

interface RunnerState {
  readonly cached: CachedBlocks;
  /** Blocks of prompts that it has been given and has not computed yet. */
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
    // Equal ones take turns.
    this.#turn += 1;
    return this.#give((candidates[best] as Candidate).id, blocks, known[best] as number);
  }

  /** Forgets all runners but these. One that has ended has an empty cache when it comes back. */
  keep(ids: ReadonlySet<string>): void {
    for (const id of this.#runners.keys()) if (!ids.has(id)) this.#runners.delete(id);
  }

  /** For each block, what computing it and all behind it costs. `known` is how many each of the candidates has. */
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

  /** What has to be done beside its own prompt: the prompts before it, its share of steps, and the wait for a slot. */
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
        this.#completionTokens += NEWEST * (report.completionTokens - this.#completionTokens);
        if (predicted === 0) return;
        const found = (report.cachedTokens / report.promptTokens) * blocks.length;
        if (found < MISSED * predicted) state.cached.missed(age);
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
