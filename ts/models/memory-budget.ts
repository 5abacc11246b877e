/** What loaded models may take together, in main memory and on GPUs. */
import type { DeviceMemory } from '../engine/engine.js';

/** The rest is for what else runs on the machine, and for what estimates leave out. */
const SHARE = 0.8;

/**
 * A model goes to the GPUs as far as it fits there, and else into main memory, so both are one budget. The GPUs are known
 * when a first model has been loaded: its engine, which has the drivers, says which there are.
 */
export class MemoryBudget {
  readonly #mainBytes: number;
  readonly #isFixed: boolean;
  readonly #gpus = new Map<string, number>();

  private constructor(mainBytes: number, isFixed: boolean) {
    this.#mainBytes = mainBytes;
    this.#isFixed = isFixed;
  }

  /** As somebody wants it, whatever devices there are. */
  static of(bytes: number): MemoryBudget {
    return new MemoryBudget(bytes, true);
  }

  /** A share of what is free in main memory, and of what GPUs have. */
  static ofFree(freeBytes: number): MemoryBudget {
    return new MemoryBudget(SHARE * freeBytes, false);
  }

  get bytes(): number {
    if (this.#isFixed) return this.#mainBytes;
    return this.#mainBytes + SHARE * [...this.#gpus.values()].reduce((sum, bytes) => sum + bytes, 0);
  }

  /** A device of which the driver does not say how much memory it has counts for nothing. */
  learn(gpus: readonly DeviceMemory[]): void {
    for (const { name, memoryBytes } of gpus) this.#gpus.set(name, memoryBytes);
  }
}
