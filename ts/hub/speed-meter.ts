/** How fast bytes have been coming in the last seconds. */

const WINDOW_MS = 5000;
const MIN_SPAN_MS = 500;
const MIN_GAP_MS = 100;

export class SpeedMeter {
  #samples: { at: number; bytes: number }[] = [];

  begin(bytes: number): void {
    this.#samples = [{ at: performance.now(), bytes }];
  }

  add(bytes: number): void {
    const at = performance.now();
    const last = this.#samples.at(-1);
    // Fewer bytes than before: a range was begun anew.
    if (last === undefined || bytes < last.bytes) this.begin(bytes);
    else if (at - last.at < MIN_GAP_MS && this.#samples.length > 1)
      this.#samples[this.#samples.length - 1] = { at: last.at, bytes };
    else this.#samples.push({ at, bytes });
    while (at - (this.#samples[1]?.at ?? at) > WINDOW_MS) this.#samples.shift();
  }

  end(): void {
    this.#samples = [];
  }

  /** `null` while there is too little to tell. */
  bytesPerSecond(): number | null {
    const [first] = this.#samples;
    const span = performance.now() - (first?.at ?? Number.POSITIVE_INFINITY);
    if (first === undefined || span < MIN_SPAN_MS) return null;
    return Math.round((((this.#samples.at(-1)?.bytes ?? 0) - first.bytes) / span) * 1000);
  }
}
