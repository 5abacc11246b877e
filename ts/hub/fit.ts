/** Whether a model fits into this computer's memory: quickly for a list, exactly for one that is looked at. */
import { type Fit, type Machine, PROCESS_BYTES, toFit } from './fit-badges.js';

export { type ExactFit, type ExactFitOptions, type ExactSource, exactFit } from './exact-fit.js';
export { type Badge, type Fit, type Machine, machineWithoutGpus } from './fit-badges.js';
export { removeLeftFolders } from './hollow-folders.js';

export interface QuickModel {
  /** All parts and the projector. */
  sizeBytes: number;
  parameters?: number | null | undefined;
  contextLength?: number | null | undefined;
  /** Tokens to have room for; left out: those that a server takes unless told otherwise. */
  context?: number | undefined;
}

const MIB = 2 ** 20;
/** What llama.cpp computes in, at its usual batch and a vocabulary of 128,000. */
const COMPUTE_BYTES = 280 * MIB;
const USUAL_CONTEXT = 4096;
/** Llama 3 8B: 32 layers, 8 heads of 128 numbers for keys and values each, two bytes a number. */
const KNOWN_PARAMETERS = 8e9;
const KNOWN_BYTES_PER_TOKEN = 131_072;

/**
 * From sizes alone, so it may be wrong by a tenth: the KV cache depends on how the model is built, which only its file
 * says. `exactFit` reads that.
 */
export function quickFit(model: QuickModel, machine: Machine): Fit {
  const { sizeBytes, parameters, contextLength } = model;
  const context = Math.min(model.context ?? USUAL_CONTEXT, contextLength ?? Number.POSITIVE_INFINITY);
  // Models of other sizes have their layers and heads in about this proportion.
  const size = (parameters ?? sizeBytes * 1.6) / KNOWN_PARAMETERS;
  const bytesPerToken = KNOWN_BYTES_PER_TOKEN * size ** 0.45;
  const needBytes = Math.round(sizeBytes + context * bytesPerToken + COMPUTE_BYTES + PROCESS_BYTES);
  return toFit(needBytes, machine);
}
