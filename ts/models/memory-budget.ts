/** The memory that loaded models may take together, in main memory and on GPUs. */
import type { DeviceMemory } from '../engine/engine.js';

/** The rest is left for other processes, and for errors of the estimates. */
const SHARE = 0.8;

/**
 * One budget for both, because a model that does not fit on the GPUs goes to main memory. The GPUs are known after the first
 * load: only an engine has the drivers.
 */
export class MemoryBudget {
  readonly #gpus = new Map<string, number>();

  private constructor(
    private readonly mainBytes: number,
    private readonly isFixed: boolean,
  ) {}

  /** A fixed budget, whatever the devices. */
  static of(bytes: number): MemoryBudget {
    return new MemoryBudget(bytes, true);
  }

  /** A share of free main memory, and of the memory of GPUs. */
  static ofFree(freeBytes: number): MemoryBudget {
    return new MemoryBudget(SHARE * freeBytes, false);
  }

  get bytes(): number {
    if (this.isFixed) return this.mainBytes;
    return this.mainBytes + SHARE * [...this.#gpus.values()].reduce((sum, bytes) => sum + bytes, 0);
  }

  /** Devices of unknown memory count as 0. */
  learn(gpus: readonly DeviceMemory[]): void {
    for (const { name, memoryBytes } of gpus) this.#gpus.set(name, memoryBytes);
  }
}
