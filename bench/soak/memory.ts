/** Checks that memory was constant after the warm-up. */
import { median } from '../work.js';

/** Allowed growth between the medians of two fifths, caused by garbage collection. */
const MARGIN_MIB = 24;
/** The JavaScript heap grows during the first minutes, so short runs allow more growth. */
const SHORT_RUN_MARGIN_MIB = 80;
const SHORT_RUN_SAMPLES = 130;
/** Minimum number of samples for a meaningful median of a fifth. */
const FEWEST_SAMPLES = 15;

export interface MemoryVerdict {
  /** One line for the output. */
  text: string;
  grew: boolean;
}

/**
 * Compares the last fifth of the samples with the second one. The first fifth is the warm-up. `levelMiB`: a short run may
 * grow to this level, because a fast machine reaches the end of its warm-up within the run, and a slow one does not.
 */
export function judgeMemory(samples: readonly number[], levelMiB = 0): MemoryVerdict {
  if (samples.length < FEWEST_SAMPLES) return { text: `memory: ${samples.length} samples, too few`, grew: false };
  const fifth = (index: number) =>
    median(samples.slice(Math.floor((index * samples.length) / 5), Math.floor(((index + 1) * samples.length) / 5)));
  const early = fifth(1);
  const late = fifth(4);
  const isShort = samples.length < SHORT_RUN_SAMPLES;
  const allowed = isShort ? Math.max(early + SHORT_RUN_MARGIN_MIB, levelMiB) : early + MARGIN_MIB;
  const grew = late > allowed;
  const text =
    `memory: median of the second fifth ${early.toFixed(1)} MiB, of the last ${late.toFixed(1)}, ` +
    `${grew ? 'more than' : 'within'} the ${allowed.toFixed(1)} allowed`;
  return { text, grew };
}

/** The samples as a line of numbers, reduced to at most `most`. */
export function curve(samples: readonly number[], most = 60): string {
  const every = Math.max(1, Math.ceil(samples.length / most));
  const shown = samples.filter((_, index) => index % every === 0).map((sample) => sample.toFixed(0));
  return `memory in MiB, every ${2 * every} s: ${shown.join(' ')}`;
}
