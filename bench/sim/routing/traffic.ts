/** Synthetic conversations, as segments of their prompts. */
import { seededRandom } from '../../../test/support/seeded-random.js';

/** An indivisible part of a prompt. A segment always follows the same prefix. */
export interface Segment {
  id: number;
  tokens: number;
}

export interface Turn {
  prompt: Segment[];
  completion: Segment;
  /** Seconds since the end of the previous turn. */
  afterSeconds: number;
}

export interface Conversation {
  arrival: number;
  turns: Turn[];
}

export const SHAPES = ['chat', 'agents', 'documents', 'bursts', 'pool', 'hot', 'none'] as const;
export type Shape = (typeof SHAPES)[number];

/** Descriptions of the shapes for the output. */
export const SHAPE_NOTES: Record<Shape, string> = {
  chat: 'conversations of 1 to 16 turns with one of 12 system prompts',
  agents: 'one of three prefixes of 8,000 tokens, then 3 to 14 turns with pauses of 2 s',
  documents: '4,000 to 30,000 tokens, up to three questions each',
  bursts: '24 to 40 simultaneous requests with a common prefix of 500 tokens',
  pool: 'one of 150 prompts of 6,000 tokens, followed by a question of 60 tokens',
  hot: 'one prefix of 2,000 tokens for all requests',
  none: 'no common prefixes',
};

class Maker {
  readonly #random: () => number;
  #next = 1_000_000;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  uniform(low: number, high: number): number {
    return low + (high - low) * this.#random();
  }

  below(count: number): number {
    return Math.floor(this.#random() * count);
  }

  exponential(mean: number): number {
    return -mean * Math.log(1 - this.#random());
  }

  /** Half of the values are within a factor of two of the median. */
  around(median: number, least: number, most: number): number {
    const normal = Math.sqrt(-2 * Math.log(1 - this.#random())) * Math.cos(2 * Math.PI * this.#random());
    return Math.round(Math.min(most, Math.max(least, median * Math.exp(normal))));
  }

  segment(tokens: number): Segment {
    return { id: this.#next++, tokens };
  }

  conversation(beginning: Segment | null, asked: readonly number[], answered: number, seconds: number): Conversation {
    const so: Segment[] = beginning === null ? [] : [beginning];
    const turns = asked.map((tokens, at): Turn => {
      so.push(this.segment(tokens));
      const completion = this.segment(this.around(answered, 5, 800));
      const turn = { prompt: [...so], completion, afterSeconds: at === 0 ? 0 : this.around(seconds, 0, 10 * seconds) };
      so.push(completion);
      return turn;
    });
    return { arrival: 0, turns };
  }
}

function group(shape: Shape, make: Maker, number: number): Conversation[] {
  const shared = (which: number, tokens: number): Segment => ({ id: which, tokens });
  const several = (count: number, median: number): number[] => {
    return Array.from({ length: count }, () => make.around(median, 4, 3000));
  };
  switch (shape) {
    case 'chat': {
      const which = Math.min(11, Math.floor(make.exponential(2.5)));
      const beginning = shared(which, 200 + ((which * 163) % 1000));
      return [make.conversation(beginning, several(1 + Math.min(15, Math.floor(make.exponential(3))), 40), 120, 20)];
    }
    case 'agents':
      return [make.conversation(shared(make.below(3), 8000), several(3 + make.below(12), 300), 80, 2)];
    case 'documents': {
      const length = Math.round(Math.exp(make.uniform(Math.log(4000), Math.log(30_000))));
      return [make.conversation(null, [length, ...several(make.below(3), 30)], 200, 30)];
    }
    case 'bursts': {
      const beginning = shared(1000 + number, 500);
      return Array.from({ length: 24 + make.below(17) }, () => make.conversation(beginning, several(1, 80), 100, 0));
    }
    case 'pool':
      return [make.conversation(shared(make.below(150), 6000), several(1, 60), 120, 0)];
    case 'hot':
      return [make.conversation(shared(1, 2000), several(1, 60), 120, 0)];
    case 'none':
      return [make.conversation(null, several(1, 400), 120, 0)];
  }
}

/** @param workMs work of a machine for a conversation; @param load arrival rate as a share of the capacity */
export function makeTraffic(
  {
    shape,
    requests,
    seed,
    load,
    runners,
  }: { shape: Shape; requests: number; seed: number; load: number; runners: number },
  workMs: (conversation: Conversation) => number,
): Conversation[] {
  const make = new Maker(seed);
  const groups: Conversation[][] = [];
  let made = 0;
  let work = 0;
  while (made < requests) {
    const conversations = group(shape, make, groups.length);
    for (const conversation of conversations) {
      made += conversation.turns.length;
      work += workMs(conversation);
    }
    groups.push(conversations);
  }
  const meanMs = work / runners / load / groups.length;
  let now = 0;
  for (const conversations of groups) {
    now += make.exponential(meanMs);
    for (const conversation of conversations) conversation.arrival = now;
  }
  return groups.flat();
}
