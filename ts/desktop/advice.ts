/** Which quantisation of a model is the one to take on this computer, and how fast it will be. */
import { type Fit, type Machine, quickFit } from '../hub/fit.js';
import type { HubListedModel, HubModel, Quantisation } from '../hub/hub-types.js';
import { chooseQuantisation } from '../hub/model-name.js';
import { usualBits } from '../hub/quantisation-words.js';

export type Recommendation = 'recommended' | 'better' | null;

/** Fast, and little is lost. */
const USUAL = /^(UD-)?Q4_K_(M|XL)/;
/** Hardly different from the original; worth it where there is room for it and for long conversations. */
const BETTER = /^(UD-)?Q6_K/;
const BETTER_CONTEXT = 16_384;

/** One is recommended where any fits, and one more is better where there is room for it. */
export function recommend(model: HubModel, machine: Machine): Map<Quantisation, Recommendation> {
  const { quantisations } = model;
  const fits = (each: Quantisation, context?: number) => fitOf(each, model, machine, context).badge !== 'too-large';
  const fitting = quantisations.filter((each) => fits(each));
  const usual = fitting.find(({ label }) => USUAL.test(label)) ?? largestUpToUsual(fitting);
  const better = quantisations.find(
    (each) => BETTER.test(each.label) && each.sizeBytes > (usual?.sizeBytes ?? 0) && fits(each, BETTER_CONTEXT),
  );
  return new Map(
    quantisations.map((each) => [each, each === usual ? 'recommended' : each === better ? 'better' : null]),
  );
}

export function fitOf(
  { sizeBytes }: Pick<Quantisation, 'sizeBytes'>,
  { parameters, contextLength }: Pick<HubModel, 'parameters' | 'contextLength'>,
  machine: Machine,
  context?: number,
): Fit {
  return quickFit({ sizeBytes, parameters, contextLength, context }, machine);
}

/** Where there is none of four bits, what is smaller was made to fit, and what is larger is slower. */
function largestUpToUsual(fitting: readonly Quantisation[]): Quantisation | undefined {
  const small = fitting.filter(({ label, bitsPerWeight }) => (bitsPerWeight ?? usualBits(label) ?? 99) < 5);
  return small.at(-1) ?? fitting[0];
}

/** Of the quantisation that its name alone would mean, by the usual size of that; `null` where too little is known. */
export function fitOfListed(model: HubListedModel, machine: Machine): Fit | null {
  const label = usualLabel(model.quantisations);
  const bits = label === null ? null : usualBits(label);
  if (bits === null || model.parameters === null) return null;
  return fitOf({ sizeBytes: (model.parameters * bits) / 8 }, model, machine);
}

function usualLabel(labels: readonly string[]): string | null {
  const [first] = labels;
  if (first === undefined) return null;
  const asFiles = labels.map((label) => {
    const file = { path: `${label}.gguf`, sizeBytes: 0, sha256: null };
    return { label, bitsPerWeight: null, sizeBytes: 0, files: [file], projector: null, words: '' };
  });
  return chooseQuantisation(asFiles, null).label;
}

/** Runs that are remembered, so that one beside other work does not decide. */
const MAX_RUNS = 25;

/**
 * To write a token, all of a model's weights are read from memory once. So what runs here showed how many bytes a second
 * can be read, and that tells how fast another model will be.
 */
export class SpeedBook {
  readonly #runs: number[];

  constructor(runs: readonly number[] = []) {
    this.#runs = [...runs];
  }

  get runs(): readonly number[] {
    return this.#runs;
  }

  /** A completion that was computed alone. */
  add(tokensPerSecond: number, weightBytes: number): void {
    if (!(tokensPerSecond > 0 && weightBytes > 0)) return;
    this.#runs.push(Math.round(tokensPerSecond * weightBytes));
    if (this.#runs.length > MAX_RUNS) this.#runs.shift();
  }

  expect(weightBytes: number): number | null {
    const sorted = [...this.#runs].sort((one, other) => one - other);
    const median = sorted[Math.floor(sorted.length / 2)];
    if (median === undefined || weightBytes <= 0) return null;
    return Math.round((median * 10) / weightBytes) / 10;
  }
}
