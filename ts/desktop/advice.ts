/** Estimates whether a model of the hub fits on this computer, and how fast it will be. */
import { isKnownArchitecture } from '../hub/architectures.js';
import { type Badge, type Fit, type Machine, quickFit } from '../hub/fit.js';
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
export function fitOfListed(model: HubListedModel, machine: Machine): { fit: Fit; sizeBytes: number } | null {
  if (model.architecture !== null && !isKnownArchitecture(model.architecture)) return null;
  const label = usualLabel(model.quantisations);
  const bits = label === null ? null : usualBits(label);
  if (bits === null || model.parameters === null) return null;
  const sizeBytes = (model.parameters * bits) / 8;
  return { fit: fitOf({ sizeBytes }, model, machine), sizeBytes };
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

/** Matches the architectures of mixtures of experts. */
const MIXTURES = /moe|deepseek|gpt-oss|llama4|grok|dbrx|arctic|jamba|kimi|minimax|dots1|qwen3next|mixtral/;

/**
 * Share of the weights that decoding a token reads. The names of most mixtures of experts contain their active
 * parameters (`30B-A3B`). `null` for others, until their header is read.
 */
export function activeShareOf({ repo, architecture, parameters }: HubFacts): number | null {
  const [, active] = /[-_]A(\d+(?:\.\d+)?)B(?![a-z\d])/i.exec(repo) ?? [];
  if (active !== undefined) return parameters === null ? null : Math.min(1, (Number(active) * 1e9) / parameters);
  return MIXTURES.test(architecture ?? '') || /\d+x\d+/i.test(repo) ? null : 1;
}

type HubFacts = Pick<HubListedModel, 'repo' | 'architecture' | 'parameters'>;

/** Number of runs for the estimate; several, so that one slow run does not dominate it. */
const MAX_RUNS = 25;
/** Smaller models stay in the caches of the CPU. */
const MIN_BYTES_TO_LEARN = 2 ** 26;
/** Decoding reads the weights at this share of the memory bandwidth (bench/README.md has 0.77 to 0.81). */
const SHARE_OF_BANDWIDTH = 0.75;
/** Work that does not depend on the weights, such as sampling. */
const SECONDS_PER_TOKEN = 0.001;

/**
 * Estimates the speed of a model. Decoding a token reads its weights from memory once, so the speed of one model applies to
 * others. Before the first completion, the estimate is that of the measured memory bandwidth, for models on the CPU.
 */
export class SpeedBook {
  readonly #runs: number[];
  #bandwidth: number | null = null;
  #measuring: Promise<void> | undefined;

  constructor(
    runs: readonly number[] = [],
    private readonly measure: () => Promise<number | null> = async () => null,
  ) {
    this.#runs = [...runs];
  }

  get runs(): readonly number[] {
    return this.#runs;
  }

  /** Records a completion that ran alone. `bytesPerToken`: weights that a token reads. */
  add(tokensPerSecond: number, bytesPerToken: number): void {
    if (!(tokensPerSecond > 0 && bytesPerToken >= MIN_BYTES_TO_LEARN)) return;
    this.#runs.push(Math.round(tokensPerSecond * bytesPerToken));
    if (this.#runs.length > MAX_RUNS) this.#runs.shift();
  }

  /** Measures the memory bandwidth, once, unless completions have shown the speed. Call before `expect`. */
  async prepare(): Promise<void> {
    if (this.#runs.length > 0) return;
    this.#measuring ??= this.measure().then((bandwidth) => {
      this.#bandwidth = bandwidth;
    });
    await this.#measuring;
  }

  /** Tokens per second; `null` if they cannot be estimated. */
  expect(bytesPerToken: number, badge: Badge): number | null {
    const sorted = [...this.#runs].sort((one, other) => one - other);
    const median = sorted[Math.floor(sorted.length / 2)];
    const measured = badge === 'cpu' ? this.#bandwidth && this.#bandwidth * SHARE_OF_BANDWIDTH : null;
    const bytesPerSecond = median ?? measured;
    if (bytesPerSecond === null || bytesPerToken <= 0 || badge === 'too-large') return null;
    return Math.round(10 / (bytesPerToken / bytesPerSecond + SECONDS_PER_TOKEN)) / 10;
  }
}
