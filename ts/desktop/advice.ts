/** Estimates whether a model of the hub fits on this computer, and how fast it will be. */
import { isKnownArchitecture } from '../hub/architectures.js';
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

/** For the default quantisation, from its typical size; `null` if it is unknown or the model cannot be loaded. */
export function fitOfListed(model: HubListedModel, machine: Machine): Fit | null {
  if (model.architecture !== null && !isKnownArchitecture(model.architecture)) return null;
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

/** Number of runs for the estimate; several, so that one slow run does not dominate it. */
const MAX_RUNS = 25;

/**
 * Predicts the speed of a model. Decoding a token reads all weights from memory once, so the memory bandwidth measured
 * with one model applies to others.
 */
export class SpeedBook {
  readonly #runs: number[];

  constructor(runs: readonly number[] = []) {
    this.#runs = [...runs];
  }

  get runs(): readonly number[] {
    return this.#runs;
  }

  /** Records a completion that ran alone. */
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
