/** Reads a device's timeline: when it was busy and when it waited for work. */

export interface Step {
  /** Microseconds on the machine's clock. */
  given: number;
  done: number;
}

export interface Shares {
  steps: number;
  /** Median per step, in milliseconds. */
  busyMs: number;
  /** Median time from a step's end to the next submission; 0 if the next step was already submitted. */
  waitingMs: number;
  /** Share of the time from the first step to the last. */
  waitingShare: number;
}

/** Parses lines of two numbers. Only one process may write the file, because lines of several would interleave. */
export function stepsOf(text: string): Step[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [given = Number.NaN, done = Number.NaN] = line.split(' ').map(Number);
      return { given, done };
    })
    .sort((one, other) => one.given - other.given);
}

export function sharesOf(steps: readonly Step[]): Shares {
  const waits = steps.slice(1).map(({ given }, at) => Math.max(0, given - (steps[at]?.done ?? given)));
  const busy = steps.map(({ given, done }) => done - given);
  const all = (steps.at(-1)?.done ?? 0) - (steps[0]?.given ?? 0);
  return {
    steps: steps.length,
    busyMs: median(busy) / 1000,
    waitingMs: median(waits) / 1000,
    waitingShare: all > 0 ? waits.reduce((sum, wait) => sum + wait, 0) / all : 0,
  };
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[sorted.length >> 1] ?? 0;
}
