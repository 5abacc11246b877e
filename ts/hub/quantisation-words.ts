/** What the ways to store weights cost and what they lose, for those who have to choose one. */

interface Level {
  pattern: RegExp;
  /** Bits per weight, as llama.cpp's `quantize` makes them of an 8B model. */
  bits: number;
  words: string;
}

const DAMAGED = 'Damaged; only if nothing else fits';
const WEAKER = 'Noticeably weaker than the original';

/**
 * The first that matches counts. Bits and losses are those that llama.cpp's quantize and perplexity pages give for
 * Llama 3 8B; larger models lose less.
 */
const LEVELS: readonly Level[] = [
  { pattern: /^(F32)/, bits: 32, words: 'The original in full precision; no use on a computer at home' },
  { pattern: /^(BF16|F16)/, bits: 16, words: 'The original; four times as large as Q4_K_M and hardly better' },
  { pattern: /^Q8_/, bits: 8.5, words: 'As good as the original; large and slower' },
  { pattern: /^Q6_/, bits: 6.56, words: 'Hardly different from the original; slower than Q4_K_M' },
  { pattern: /^Q5_K_M|^Q5_K_XL/, bits: 5.7, words: 'Better than Q4_K_M, somewhat slower' },
  { pattern: /^Q5_/, bits: 5.57, words: 'A little better than Q4_K_M, somewhat slower' },
  { pattern: /^Q4_K_M|^Q4_K_XL/, bits: 4.89, words: 'Fast, and little is lost' },
  { pattern: /^Q4_K_S/, bits: 4.67, words: 'Near Q4_K_M, a little smaller' },
  { pattern: /^IQ4_/, bits: 4.46, words: 'Near Q4_K_M, smaller' },
  { pattern: /^(MXFP4|NVFP4)/, bits: 4.4, words: 'What the model was trained for: nothing is lost' },
  { pattern: /^Q4_/, bits: 4.66, words: 'An older form of four bits; Q4_K_M is better' },
  { pattern: /^Q3_K_(L|XL)/, bits: 4.3, words: WEAKER },
  { pattern: /^Q3_K_M/, bits: 4, words: WEAKER },
  { pattern: /^IQ3_M/, bits: 3.76, words: WEAKER },
  { pattern: /^I?Q3_/, bits: 3.5, words: 'Much weaker than the original' },
  { pattern: /^Q2_K/, bits: 3.16, words: DAMAGED },
  { pattern: /^(I?Q2_|TQ2)/, bits: 2.6, words: DAMAGED },
  { pattern: /^(I?Q1_|TQ1)/, bits: 1.9, words: DAMAGED },
];

function levelOf(label: string): Level | undefined {
  const bare = label.replace(/^UD-/, '');
  return LEVELS.find(({ pattern }) => pattern.test(bare));
}

/** Bits per weight that are usual for a label; `null` for one that is not known. */
export function usualBits(label: string): number | null {
  return levelOf(label)?.bits ?? null;
}

export function wordsFor(label: string): string {
  return levelOf(label)?.words ?? 'What it loses is not known';
}
