/** Whether a model of the hub fits on this computer, and how fast it will be. */
import { type Fit, type Machine, quickFit } from '../hub/fit.js';
import type { HubListedModel, HubModel, Quantisation } from '../hub/hub-types.js';
import { chooseQuantisation } from '../hub/model-name.js';
import { usualBits } from '../hub/quantisation-advice.js';

export function fitOf(
  { sizeBytes }: Pick<Quantisation, 'sizeBytes'>,
  { parameters, contextLength }: Pick<HubModel, 'parameters' | 'contextLength'>,
  machine: Machine,
): Fit {
  return quickFit({ sizeBytes, parameters, contextLength }, machine);
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
