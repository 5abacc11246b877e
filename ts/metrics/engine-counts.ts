/** Counters of all engines together, which do not fall when an engine is unloaded or restarted. */
import type { EngineStats } from '../engine/engine.js';

const COUNTERS = [
  'decodeSteps',
  'embeddingSteps',
  'embeddedTokens',
  'drafts',
  'draftedTokens',
  'acceptedTokens',
] as const satisfies readonly (keyof EngineStats)[];

export type EngineCounter = (typeof COUNTERS)[number];
export type EngineSums = Readonly<Record<EngineCounter, number>>;

/** `Key`: the identity of an engine. Counts after the last reading of an engine are lost with it. */
export class EngineCounts<Key> {
  readonly #last = new Map<Key, EngineStats>();
  readonly #past = Object.fromEntries(COUNTERS.map((name) => [name, 0])) as Record<EngineCounter, number>;

  read(engine: Key, stats: EngineStats): void {
    const last = this.#last.get(engine);
    const wasRestarted = last !== undefined && COUNTERS.some((name) => stats[name] < last[name]);
    if (wasRestarted) this.#keep(last);
    this.#last.set(engine, stats);
  }

  /** `present`: the engines that are loaded. */
  sums(present: ReadonlySet<Key>): EngineSums {
    for (const [engine, stats] of this.#last) {
      if (present.has(engine)) continue;
      this.#keep(stats);
      this.#last.delete(engine);
    }
    const sums = { ...this.#past };
    for (const stats of this.#last.values()) for (const name of COUNTERS) sums[name] += stats[name];
    return sums;
  }

  #keep(stats: EngineStats): void {
    for (const name of COUNTERS) this.#past[name] += stats[name];
  }
}
