/** Compares quantisations and recommends one. */
import { isKnownArchitecture } from './architectures.js';
import { type Machine, quickFit } from './fit.js';
import type { HubModel, Quantisation } from './hub-types.js';

interface Level {
  pattern: RegExp;
  /** Bits per weight of an 8B model, by llama.cpp's `quantize`. */
  bits: number;
  description: string;
}

const DAMAGED = 'Heavy loss of quality; only if nothing else fits';
const WEAKER = 'Noticeably weaker than the original';

/** The first match counts. Bits and losses are from llama.cpp's pages on quantize and perplexity, for Llama 3 8B; larger models lose less. */
const LEVELS: readonly Level[] = [
  { pattern: /^(F32)/, bits: 32, description: 'The original in full precision; too large for most computers' },
  { pattern: /^(BF16|F16)/, bits: 16, description: 'The original; four times the size of Q4_K_M and hardly better' },
  { pattern: /^Q8_/, bits: 8.5, description: 'As good as the original; large and slower' },
  { pattern: /^Q6_/, bits: 6.56, description: 'Hardly different from the original; slower than Q4_K_M' },
  { pattern: /^Q5_K_M|^Q5_K_XL/, bits: 5.7, description: 'Better than Q4_K_M, somewhat slower' },
  { pattern: /^Q5_/, bits: 5.57, description: 'A little better than Q4_K_M, somewhat slower' },
  { pattern: /^Q4_K_M|^Q4_K_XL/, bits: 4.89, description: 'Fast, with little loss of quality' },
  { pattern: /^Q4_K_S/, bits: 4.67, description: 'Near Q4_K_M, a little smaller' },
  { pattern: /^IQ4_/, bits: 4.46, description: 'Near Q4_K_M, smaller' },
  { pattern: /^(MXFP4|NVFP4)/, bits: 4.4, description: 'The format the model was trained in: no loss' },
  { pattern: /^Q4_/, bits: 4.66, description: 'An older 4-bit format; Q4_K_M is better' },
  { pattern: /^Q3_K_(L|XL)/, bits: 4.3, description: WEAKER },
  { pattern: /^Q3_K_M/, bits: 4, description: WEAKER },
  { pattern: /^IQ3_M/, bits: 3.76, description: WEAKER },
  { pattern: /^I?Q3_/, bits: 3.5, description: 'Much weaker than the original' },
  { pattern: /^Q2_K/, bits: 3.16, description: DAMAGED },
  { pattern: /^(I?Q2_|TQ2)/, bits: 2.6, description: DAMAGED },
  { pattern: /^(I?Q1_|TQ1)/, bits: 1.9, description: DAMAGED },
];

function levelOf(label: string): Level | undefined {
  const bare = label.replace(/^UD-/, '');
  return LEVELS.find(({ pattern }) => pattern.test(bare));
}

/** Typical bits per weight of a label; `null` if unknown. */
export function usualBits(label: string): number | null {
  return levelOf(label)?.bits ?? null;
}

export function descriptionOf(label: string): string {
  return levelOf(label)?.description ?? 'Unknown loss of quality';
}

export type Advice = 'recommended' | 'better' | null;

/** In order of preference: fast, with little loss. */
const USUAL = ['Q4_K_M', 'Q4_K_XL', 'MXFP4', 'MXFP4_MOE', 'Q4_K_S', 'IQ4_XS', 'IQ4_NL', 'Q4_0'];
/** Nearly lossless; recommended where a long conversation also fits. */
const BETTER = ['Q6_K', 'Q6_K_XL', 'Q5_K_M', 'Q8_0'];
const BETTER_CONTEXT = 16_384;

/**
 * Advice for each quantisation: one is recommended if any fits, and one larger is `better` if there is enough memory.
 * None if the architecture is unsupported.
 */
export function recommend(
  model: Pick<HubModel, 'quantisations' | 'parameters' | 'contextLength' | 'architecture'>,
  machine: Machine,
): Advice[] {
  const { quantisations, parameters, contextLength, architecture } = model;
  if (architecture !== null && !isKnownArchitecture(architecture)) return quantisations.map(() => null);
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

/** Without a 4-bit quantisation: smaller ones were made to fit, larger ones are slower. */
function largestUpToUsual(fitting: readonly Quantisation[]): Quantisation | undefined {
  const small = fitting.filter(({ label, bitsPerWeight }) => (bitsPerWeight ?? usualBits(label) ?? 99) < 5);
  return small.at(-1) ?? fitting[0];
}
