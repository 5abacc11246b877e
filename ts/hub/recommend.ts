/** Which quantisation to take, for those who do not want to compare them. */
import { type Machine, quickFit } from './fit.js';
import type { HubModel, Quantisation } from './hub-types.js';
import { usualBits } from './quantisation-words.js';

export type Advice = 'recommended' | 'better' | null;

/** Of those that fit the first that there is: little is lost with it, and it is fast. */
const USUAL = ['Q4_K_M', 'Q4_K_XL', 'MXFP4', 'MXFP4_MOE', 'Q4_K_S', 'IQ4_XS', 'IQ4_NL', 'Q4_0'];
/** Hardly different from the original; worth it where there is room for it and for long conversations. */
const BETTER = ['Q6_K', 'Q6_K_XL', 'Q5_K_M', 'Q8_0'];
const BETTER_CONTEXT = 16_384;

/** For each quantisation; one is recommended where any fits, and one more is better where there is room for it. */
export function recommend(
  { quantisations, parameters, contextLength }: Pick<HubModel, 'quantisations' | 'parameters' | 'contextLength'>,
  machine: Machine,
): Advice[] {
  const fits = ({ sizeBytes }: Quantisation, context?: number) =>
    quickFit({ sizeBytes, parameters, contextLength, context }, machine).badge !== 'too-large';
  const fitting = quantisations.filter((each) => fits(each));
  const recommended = firstOf(USUAL, fitting) ?? largestUpToUsual(fitting);
  const larger = fitting.filter(({ sizeBytes }) => sizeBytes > (recommended?.sizeBytes ?? 0));
  const better = firstOf(
    BETTER,
    larger.filter((each) => fits(each, BETTER_CONTEXT)),
  );
  return quantisations.map((each) => (each === recommended ? 'recommended' : each === better ? 'better' : null));
}

function firstOf(labels: readonly string[], quantisations: readonly Quantisation[]): Quantisation | undefined {
  return labels
    .map((wanted) => quantisations.find(({ label }) => label.replace(/^UD-/, '') === wanted))
    .find((found) => found !== undefined);
}

/** Where there is none of four bits, what is smaller was made to fit, and what is larger is slower. */
function largestUpToUsual(fitting: readonly Quantisation[]): Quantisation | undefined {
  const small = fitting.filter(({ label, bitsPerWeight }) => (bitsPerWeight ?? usualBits(label) ?? 99) < 5);
  return small.at(-1) ?? fitting[0];
}
