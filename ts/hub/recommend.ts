/** Which quantisation to take, for those who do not want to compare them. */
import type { Fit } from './fit-badges.js';
import type { Quantisation } from './hub-types.js';

export type Advice = 'recommended' | 'better' | null;

/** Of those that fit the first that there is: little is lost with it, and it is fast. */
const RECOMMENDED = [
  'Q4_K_M',
  'UD-Q4_K_XL',
  'MXFP4',
  'MXFP4_MOE',
  'Q4_K_S',
  'IQ4_XS',
  'IQ4_NL',
  'Q4_0',
  'Q3_K_M',
  'IQ3_M',
  'Q8_0',
];
/** Better than those, if they fit, too. */
const BETTER = ['Q6_K', 'UD-Q6_K_XL', 'Q5_K_M', 'Q8_0'];

/** For each quantisation; one is recommended and one is better, if there are such that fit. */
export function recommend(quantisations: readonly Quantisation[], fits: readonly (Fit | null)[]): Advice[] {
  const fitting = quantisations.filter((_, index) => fits[index]?.badge !== 'too-large');
  const first = (labels: readonly string[]) =>
    labels.map((label) => fitting.find((each) => each.label === label)).find((found) => found !== undefined);
  const recommended = first(RECOMMENDED);
  const better = first(BETTER);
  return quantisations.map((each) => {
    if (each === recommended) return 'recommended';
    return each === better && better.sizeBytes > (recommended?.sizeBytes ?? 0) ? 'better' : null;
  });
}
