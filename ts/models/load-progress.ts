/** Combined progress of several models that are loaded one after another, from 0 to 1 by bytes. */
export class LoadProgress {
  readonly #allBytes: number;
  #doneBytes = 0;

  /** `sizes` in bytes; `null`: the model cannot be found. */
  constructor(
    sizes: readonly (number | null)[],
    private readonly tell: (fraction: number) => void = () => {},
  ) {
    this.#allBytes = sizes.reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0);
  }

  /** Returns the progress callback of the next model. A model that is skipped needs no call of it. */
  next(bytes: number | null): (fraction: number) => void {
    const before = this.#doneBytes;
    this.#doneBytes += bytes ?? 0;
    return (fraction) => {
      this.tell(this.#allBytes === 0 ? fraction : (before + fraction * (bytes ?? 0)) / this.#allBytes);
    };
  }
}
