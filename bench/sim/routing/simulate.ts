/** Simulates traffic to several runners with a routing policy. */
import { idealMs, Machine, SLOTS, type Work } from './machine.js';
import type { Chosen, Policy } from './policies.js';
import { type Conversation, makeTraffic, type Shape } from './traffic.js';

export interface Setting {
  shape: Shape;
  runners: number;
  load: number;
  requests: number;
  seed: number;
}

export interface Outcome {
  /** Completion tokens per second of all runners. */
  tokensPerSecond: number;
  /** Seconds to first token, sorted. */
  firstToken: number[];
  /** Prompt tokens computed, and the minimum if every token were computed once. */
  computed: number;
  unique: number;
  /** Work of the busiest runner ÷ mean. */
  imbalance: number;
}

/** A stable priority queue of events by time. */
class Agenda {
  readonly #heap: { at: number; number: number; run(): void }[] = [];
  #count = 0;

  add(at: number, run: () => void): void {
    const heap = this.#heap;
    heap.push({ at, number: this.#count++, run });
    for (let child = heap.length - 1; child > 0; ) {
      const parent = (child - 1) >> 1;
      if (!this.#isBefore(child, parent)) return;
      this.#swap(child, parent);
      child = parent;
    }
  }

  next(): { at: number; run(): void } | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (heap.length === 0 || last === undefined) return first;
    heap[0] = last;
    for (let parent = 0; ; ) {
      let least = parent;
      for (const child of [2 * parent + 1, 2 * parent + 2]) {
        if (child < heap.length && this.#isBefore(child, least)) least = child;
      }
      if (least === parent) return first;
      this.#swap(least, parent);
      parent = least;
    }
  }

  #isBefore(one: number, other: number): boolean {
    const [a, b] = [this.#heap[one], this.#heap[other]] as [
      { at: number; number: number },
      { at: number; number: number },
    ];
    return a.at < b.at || (a.at === b.at && a.number < b.number);
  }

  #swap(one: number, other: number): void {
    const heap = this.#heap as unknown[];
    [heap[one], heap[other]] = [heap[other], heap[one]];
  }
}

export function simulate(setting: Setting, policy: Policy): Outcome {
  const conversations = makeTraffic(setting, idealMs);
  const machines = Array.from({ length: setting.runners }, () => new Machine());
  const stepping = machines.map(() => false);
  const agenda = new Agenda();
  const all = machines.map((_, at) => at);
  const moves = new Map<Work, (to: number) => void>();
  const firstToken: number[] = [];
  let completionTokens = 0;
  let end = 0;

  /** Work stealing as in the gateway: a runner with free slots and no queue takes a request that waits for another runner. */
  const take = (at: number): void => {
    const machine = machines[at] as Machine;
    while (machine.running < SLOTS) {
      const longest = machines.reduce((one, other) => (other.waiting.length > one.waiting.length ? other : one));
      const work = longest.waiting.length > SLOTS ? longest.waiting.shift() : undefined;
      if (work === undefined) return;
      moves.get(work)?.(at);
    }
  };

  const step = (at: number, now: number): void => {
    const machine = machines[at] as Machine;
    take(at);
    const ms = machine.step();
    stepping[at] = ms !== null;
    if (ms === null) return;
    agenda.add(now + ms, () => {
      machine.finish(now + ms);
      step(at, now + ms);
    });
  };

  const send = (conversation: Conversation, turn: number, now: number): void => {
    const { prompt, completion } = conversation.turns[turn] as Conversation['turns'][number];
    let chosen: Chosen | null = null;
    const work: Work = {
      prompt,
      promptTokens: prompt.reduce((sum, { tokens }) => sum + tokens, 0),
      completion,
      cachedTokens: 0,
      onFirst: (at) => {
        firstToken.push((at - now) / 1000);
        chosen?.prefilled?.();
      },
      onDone: (at) => {
        chosen?.finished?.(work);
        moves.delete(work);
        completionTokens += completion.tokens;
        end = Math.max(end, at);
        const next = conversation.turns[turn + 1];
        if (next === undefined) return;
        const arrival = at + 1000 * next.afterSeconds;
        agenda.add(arrival, () => send(conversation, turn + 1, arrival));
      },
    };
    const give = (among: readonly number[]): number => {
      chosen?.finished?.(null);
      chosen = policy.choose(work, machines, among);
      (machines[chosen.at] as Machine).waiting.push(work);
      return chosen.at;
    };
    moves.set(work, (to) => give([to]));
    const at = give(all);
    if (!stepping[at]) step(at, now);
  };

  for (const conversation of conversations) {
    agenda.add(conversation.arrival, () => send(conversation, 0, conversation.arrival));
  }
  for (let event = agenda.next(); event !== undefined; event = agenda.next()) event.run();

  const busy = machines.map(({ busyMs }) => busyMs);
  const unique = new Map(
    conversations.flatMap(({ turns }) => turns.flatMap(({ prompt }) => prompt)).map((each) => [each.id, each.tokens]),
  );
  for (const { turns } of conversations) for (const { completion } of turns) unique.delete(completion.id);
  return {
    tokensPerSecond: completionTokens / (end / 1000),
    firstToken: firstToken.sort((one, other) => one - other),
    computed: machines.reduce((sum, { computed }) => sum + computed, 0),
    unique: [...unique.values()].reduce((sum, tokens) => sum + tokens, 0),
    imbalance: (Math.max(...busy) * busy.length) / busy.reduce((sum, ms) => sum + ms, 0),
  };
}
