/** Whether memory was flat after the warm-up. */
import { median } from '../work.js';

/** What a fifth's median may lie above an earlier one's: the garbage collector's ups and downs. */
const MARGIN_MIB = 24;
/** JavaScript's heap grows for the first minutes. In a shorter run only a torrent counts as growth. */
const SHORT_RUN_MARGIN_MIB = 80;
const SHORT_RUN_SAMPLES = 130;
/** With fewer samples a fifth is too short for a median to mean anything. */
const FEWEST_SAMPLES = 15;

export interface MemoryVerdict {
  /** One line, for people. */
  text: string;
  grew: boolean;
}

/** Compares the last fifth of the samples with the second; the first is the warm-up. */
export function judgeMemory(samples: readonly number[]): MemoryVerdict {
  if (samples.length < FEWEST_SAMPLES) return { text: `memory: ${samples.length} samples, too few`, grew: false };
  const fifth = (index: number) =>
    median(samples.slice(Math.floor((index * samples.length) / 5), Math.floor(((index + 1) * samples.length) / 5)));
  const early = fifth(1);
  const late = fifth(4);
  const allowed = early + (samples.length < SHORT_RUN_SAMPLES ? SHORT_RUN_MARGIN_MIB : MARGIN_MIB);
  const grew = late > allowed;
  const text =
    `memory: median of the second fifth ${early.toFixed(1)} MiB, of the last ${late.toFixed(1)}, ` +
    `${grew ? 'more than' : 'within'} the ${allowed.toFixed(1)} allowed`;
  return { text, grew };
}

/** The curve as a line of numbers, thinned out to at most `most`. */
export function curve(samples: readonly number[], most = 60): string {
  const every = Math.max(1, Math.ceil(samples.length / most));
  const shown = samples.filter((_, index) => index % every === 0).map((sample) => sample.toFixed(0));
  return `memory in MiB, every ${2 * every} s: ${shown.join(' ')}`;
}
