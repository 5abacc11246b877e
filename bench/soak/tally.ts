/** What happened, by kind, and what must not have happened. */

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

  /** An answer that differs because two tokens were as good as equal. */
  tie(description: string): void {
    this.count('ties decided otherwise');
    this.ties.add(description);
  }

  /** By how much the log-probabilities of one answer differed from those on the idle server, at most. */
  rounding(difference: number): void {
    this.#roundings.push(difference);
  }

  /** Median, 90th and 99th percentile, largest. */
  get roundings(): number[] {
    const sorted = [...this.#roundings].sort((a, b) => a - b);
    return [0.5, 0.9, 0.99, 1].map(
      (part) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0,
    );
  }

  /** So much goes wrong that going on would teach nothing more. */
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
