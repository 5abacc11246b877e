/** One progress over several models that are loaded one after another: how much of all their bytes is there, from 0 to 1. */
export class LoadProgress {
  readonly #tell: (fraction: number) => void;
  readonly #allBytes: number;
  #doneBytes = 0;

  /** `sizes`: of all models, in bytes; `null` where a model cannot be found. */
  constructor(sizes: readonly (number | null)[], tell: (fraction: number) => void = () => {}) {
    this.#tell = tell;
    this.#allBytes = sizes.reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0);
  }

  /** The progress of the next of them, to be called with how much of it is loaded; or it is passed over. */
  next(bytes: number | null): (fraction: number) => void {
    const before = this.#doneBytes;
    this.#doneBytes += bytes ?? 0;
    return (fraction) => {
      this.#tell(this.#allBytes === 0 ? fraction : (before + fraction * (bytes ?? 0)) / this.#allBytes);
    };
  }
}
