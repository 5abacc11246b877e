/** Counts events by kind and collects violations. */

const MAX_LISTED = 50;

export class Tally {
  readonly #counts = new Map<string, number>();
  readonly violations: string[] = [];
  readonly ties = new Set<string>();
  readonly #roundings: number[] = [];
  #unlisted = 0;

  count(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
  }

  violation(what: string): void {
    if (this.violations.length < MAX_LISTED) this.violations.push(what);
    else this.#unlisted += 1;
  }

  /** Records an answer that differs because two tokens had nearly equal probability. */
  tie(description: string): void {
    this.count('ties decided otherwise');
    this.ties.add(description);
  }

  /** Records the largest difference between the log-probabilities of an answer and those of the idle server. */
  rounding(difference: number): void {
    this.#roundings.push(difference);
  }

  /** Median, p90, p99 and maximum. */
  get roundings(): number[] {
    const sorted = [...this.#roundings].sort((a, b) => a - b);
    return [0.5, 0.9, 0.99, 1].map(
      (part) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0,
    );
  }

  /** True after so many violations that continuing is useless. */
  get hopeless(): boolean {
    return this.#unlisted > 0;
  }

  toString(): string {
    return [...this.#counts]
      .sort(([a], [b]) => a.localeCompare(b))
      .map(([what, count]) => `${what} ${count}`)
      .join(', ');
  }
}
