/** Routing policies. All of them see the number of requests per runner; the oracle sees the full state. */

import { seededRandom } from '../../../test/support/seeded-random.js';
import { PrefixRouter } from '../../../ts/cloud/routing/prefix-router.js';
import { type Machine, MS_PER_DECODED_TOKEN, MS_PER_PROMPT_TOKEN, SLOTS, type Work } from './machine.js';

export interface Chosen {
  at: number;
  prefilled?(): void;
  /** @param work null if another runner has taken over the request */
  finished?(work: Work | null): void;
}

export interface Policy {
  /** @param free indices of the eligible runners */
  choose(work: Work, machines: readonly Machine[], free: readonly number[]): Chosen;
}

/** The gateway splits prompts into blocks of about 128 tokens. */
const BLOCK_TOKENS = 128;

export function blocksOf({ prompt, promptTokens }: Work): number[] {
  const blocks: number[] = [];
  let end = 0;
  let at = -1;
  for (let block = 0; block * BLOCK_TOKENS < promptTokens; block++) {
    const until = Math.min(promptTokens, (block + 1) * BLOCK_TOKENS);
    while (end < until) end += (prompt[++at] as { tokens: number }).tokens;
    const id = (prompt[at] as { id: number }).id * 65_536 + block;
    // An incomplete last block differs from the complete one.
    blocks.push(until === (block + 1) * BLOCK_TOKENS ? id : -id - 1);
  }
  return blocks;
}

const random = (): Policy => {
  const draw = seededRandom(7);
  return { choose: (_work, _machines, free) => ({ at: free[Math.floor(draw() * free.length)] as number }) };
};

const roundRobin = (): Policy => {
  let turn = 0;
  return {
    choose: (_work, machines, free) => {
      do turn = (turn + 1) % machines.length;
      while (!free.includes(turn));
      return { at: turn };
    },
  };
};

function best(free: readonly number[], turn: number, costOf: (at: number) => number): number {
  let chosen = free[0] as number;
  let least = Number.POSITIVE_INFINITY;
  for (let step = 0; step < free.length; step++) {
    const at = free[(step + turn) % free.length] as number;
    const cost = costOf(at);
    if (cost < least) [chosen, least] = [at, cost];
  }
  return chosen;
}

const leastActive = (): Policy => {
  let turn = 0;
  return { choose: (_work, machines, free) => ({ at: best(free, turn++, (at) => (machines[at] as Machine).running) }) };
};

/** Consistent hashing of the first 2 KiB with bounded loads: 256 replicas, a bound of 1.25 times the mean. */
const chwbl = (): Policy => {
  const hash = (value: number): number => {
    let mixed = Math.imul(value ^ (value >>> 16), 0x45d9f3b);
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x45d9f3b);
    return (mixed ^ (mixed >>> 16)) >>> 0;
  };
  let ring: (readonly [number, number])[] = [];
  return {
    choose: (work, machines, free) => {
      if (ring.length === 0) {
        ring = machines
          .flatMap((_, at) =>
            Array.from({ length: 256 }, (_each, replica) => [hash(at * 256 + replica + 1), at] as const),
          )
          .sort(([one], [other]) => one - other);
      }
      const key = hash(
        blocksOf(work)
          .slice(0, 4)
          .reduce((sum, block) => (sum * 31 + block) % 4_294_967_291, 7),
      );
      const bound = (1.25 * (machines.reduce((sum, { running }) => sum + running, 0) + 1)) / machines.length;
      const first = ring.findIndex(([at]) => at >= key);
      for (let step = 0; step < ring.length; step++) {
        const [, at] = ring[(Math.max(0, first) + step) % ring.length] as readonly [number, number];
        if (free.includes(at) && (machines[at] as Machine).running + 1 <= Math.ceil(bound)) return { at };
      }
      return { at: free[0] as number };
    },
  };
};

const prefix = (): Policy => {
  const router = new PrefixRouter();
  return {
    choose: (work, machines, free) => {
      const candidates = free.map((at) => ({
        id: String(at),
        slots: SLOTS,
        running: (machines[at] as Machine).running,
      }));
      const decision = router.choose(blocksOf(work), candidates);
      return {
        at: Number(decision.id),
        prefilled: decision.prefilled,
        finished: (done) => {
          if (done === null) decision.finished(null);
          else decision.finished({ ...done, completionTokens: done.completion.tokens });
        },
      };
    },
  };
};

/** Recomputing tokens delays all requests of a runner, not only the one that needs them. */
const OWN_PROMPT_WEIGHT = 3;

/** Knows the caches, the progress and the lengths of all completions. */
const oracle = (): Policy => {
  let turn = 0;
  return {
    choose: (work, machines, free) => {
      const costOf = (at: number): number => {
        const machine = machines[at] as Machine;
        const { others, own } = machine.tokensAhead(work.prompt);
        const prompts = others + OWN_PROMPT_WEIGHT * own;
        return prompts * MS_PER_PROMPT_TOKEN + machine.decodesAhead * MS_PER_DECODED_TOKEN;
      };
      return { at: best(free, turn++, costOf) };
    },
  };
};

export const POLICIES = {
  random,
  'round robin': roundRobin,
  'least active': leastActive,
  CHWBL: chwbl,
  prefix,
  oracle,
} as const satisfies Record<string, () => Policy>;
export type PolicyName = keyof typeof POLICIES;
