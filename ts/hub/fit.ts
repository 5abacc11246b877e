/** Estimates whether a model fits into this computer's memory. */
import os from 'node:os';
import { availableMemory } from '../process/process-usage.js';
import { formatBytes } from './format-bytes.js';

export type Badge = 'gpu' | 'partly-gpu' | 'cpu' | 'too-large';

export interface Fit {
  badge: Badge;
  needBytes: number;
  /** Free memory on the devices that the model would use. */
  haveBytes: number;
  /** For people, such as `Runs fully on the GPU`. */
  words: string;
}

export interface Machine {
  freeBytes: number;
  totalBytes: number;
  gpus: readonly { name: string; freeBytes: number; totalBytes: number }[];
}

/** Main memory only: the memory of GPUs is known to their drivers. */
export function machineWithoutGpus(): Machine {
  const { constrainedMemory } = process as { constrainedMemory?(): number };
  const total = os.totalmem();
  const limit = constrainedMemory?.() || total;
  return { freeBytes: availableMemory(), totalBytes: Math.min(limit, total), gpus: [] };
}

/** Node and the code of llama.cpp. */
export const PROCESS_BYTES = 100 * 2 ** 20;
/** Offloading less than this does not pay off. */
const MIN_GPU_SHARE = 0.1;

/** Judges by free memory; the description says if ending other programs would help. */
function toFit(needBytes: number, { freeBytes, totalBytes, gpus }: Machine): Fit {
  const onGpus = gpus.reduce((sum, gpu) => sum + gpu.freeBytes, 0);
  if (gpus.length > 0 && needBytes <= onGpus) return fitOf('gpu', needBytes, onGpus);
  if (onGpus >= needBytes * MIN_GPU_SHARE && needBytes <= onGpus + freeBytes) {
    return fitOf('partly-gpu', needBytes, onGpus + freeBytes);
  }
  if (needBytes <= freeBytes) return fitOf('cpu', needBytes, freeBytes);
  const all = totalBytes + gpus.reduce((sum, gpu) => sum + gpu.totalBytes, 0);
  return fitOf('too-large', needBytes, onGpus + freeBytes, needBytes <= all * 0.9);
}

const DESCRIPTIONS: Readonly<Record<Exclude<Badge, 'too-large'>, string>> = {
  gpu: 'Runs fully on the GPU',
  'partly-gpu': 'Runs partly on the GPU',
  cpu: 'Runs on the CPU',
};

/** `couldFit`: it would fit if other programs ended. */
export function fitOf(badge: Badge, needBytes: number, haveBytes: number, couldFit = false): Fit {
  if (badge !== 'too-large') return { badge, needBytes, haveBytes, words: DESCRIPTIONS[badge] };
  const numbers = `needs ${formatBytes(needBytes)}, you have ${formatBytes(haveBytes)}`;
  const words = couldFit ? `Too large now (${numbers} free); end other programs` : `Too large (${numbers})`;
  return { badge, needBytes, haveBytes, words };
}

export interface QuickModel {
  /** All parts and the projector. */
  sizeBytes: number;
  parameters?: number | null | undefined;
  contextLength?: number | null | undefined;
  /** Context length in tokens; default: that of a server. */
  context?: number | undefined;
}

const MIB = 2 ** 20;
/** llama.cpp's compute buffers with the default batch and a vocabulary of 128,000. */
const COMPUTE_BYTES = 280 * MIB;
const USUAL_CONTEXT = 4096;
/** Llama 3 8B: 32 layers × 8 heads × 128 values, for keys and for values, 2 bytes each. */
const KNOWN_PARAMETERS = 8e9;
const KNOWN_BYTES_PER_TOKEN = 131_072;

/** Estimates from the file size, within about 10 %: the size of the KV cache depends on the architecture (see `exactFit`). */
export function quickFit(model: QuickModel, machine: Machine): Fit {
  const { sizeBytes, parameters, contextLength } = model;
  const context = Math.min(model.context ?? USUAL_CONTEXT, contextLength ?? Number.POSITIVE_INFINITY);
  // The KV cache grows with about this power of the model size.
  const size = (parameters ?? sizeBytes * 1.6) / KNOWN_PARAMETERS;
  const bytesPerToken = KNOWN_BYTES_PER_TOKEN * size ** 0.45;
  const needBytes = Math.round(sizeBytes + context * bytesPerToken + COMPUTE_BYTES + PROCESS_BYTES);
  return toFit(needBytes, machine);
}
