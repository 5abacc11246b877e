/** Limits the memory of a process. */
import { ownResidentBytes } from '../../process/process-usage.js';

const LOOK_MS = 50;
/** Cancelled work may continue for a while. */
const LOOKS_AFTERWARDS = 100;

export interface MemoryLimit {
  /** In bytes, beyond what the process has now. */
  mayGrowBy: number;
  onExceeded(): void;
  /** Default: the resident memory of this process. `null`: unknown now. */
  measure?: () => number | null;
}

export class MemoryWatch {
  readonly #limit: number;
  readonly #measure: () => number | null;
  readonly #onExceeded: () => void;
  #timer: NodeJS.Timeout | undefined;
  #running = 0;
  #looksLeft = 0;

  constructor({ mayGrowBy, onExceeded, measure = ownResidentBytes }: MemoryLimit) {
    this.#measure = measure;
    this.#onExceeded = onExceeded;
    this.#limit = (measure() ?? 0) + mayGrowBy;
  }

  /** Checks the memory while `work` runs, and for five seconds afterwards. */
  async during<T>(work: () => T | Promise<T>): Promise<T> {
    this.#running += 1;
    this.#timer ??= setTimeout(() => this.#look(), LOOK_MS);
    try {
      return await work();
    } finally {
      this.#running -= 1;
      this.#looksLeft = LOOKS_AFTERWARDS;
    }
  }

  #look(): void {
    if ((this.#measure() ?? 0) > this.#limit) this.#onExceeded();
    this.#looksLeft -= 1;
    const goesOn = this.#running > 0 || this.#looksLeft > 0;
    this.#timer = goesOn ? setTimeout(() => this.#look(), LOOK_MS) : undefined;
  }
}
