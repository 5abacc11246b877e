/** How it is said whether a model fits into this computer's memory. */
import os from 'node:os';
import { inWords } from './in-words.js';

export type Badge = 'gpu' | 'partly-gpu' | 'cpu' | 'too-large';

export interface Fit {
  badge: Badge;
  needBytes: number;
  /** What is free now where the model would go. */
  haveBytes: number;
  /** Such as `Runs fully on the GPU`. */
  words: string;
}

/** Memory in bytes. */
export interface Machine {
  freeBytes: number;
  totalBytes: number;
  gpus: readonly { name: string; freeBytes: number; totalBytes: number }[];
}

/** This computer without its GPUs, which only their drivers know. */
export function machineWithoutGpus(): Machine {
  // In a container, what it may still take.
  const { availableMemory, constrainedMemory } = process as {
    availableMemory?(): number;
    constrainedMemory?(): number;
  };
  const total = os.totalmem();
  const limit = constrainedMemory?.() || total;
  return { freeBytes: availableMemory?.() ?? os.freemem(), totalBytes: Math.min(limit, total), gpus: [] };
}

/** The process itself, with Node and the code of llama.cpp. */
export const PROCESS_BYTES = 100 * 2 ** 20;
/** A smaller part of a model on a GPU brings nothing. */
const MIN_GPU_SHARE = 0.1;

/** What is free now counts; that other programs could make room is said. */
export function toFit(needBytes: number, { freeBytes, totalBytes, gpus }: Machine): Fit {
  const onGpus = gpus.reduce((sum, gpu) => sum + gpu.freeBytes, 0);
  if (gpus.length > 0 && needBytes <= onGpus) return fitOf('gpu', needBytes, onGpus);
  if (onGpus >= needBytes * MIN_GPU_SHARE && needBytes <= onGpus + freeBytes) {
    return fitOf('partly-gpu', needBytes, onGpus + freeBytes);
  }
  if (needBytes <= freeBytes) return fitOf('cpu', needBytes, freeBytes);
  const all = totalBytes + gpus.reduce((sum, gpu) => sum + gpu.totalBytes, 0);
  return fitOf('too-large', needBytes, onGpus + freeBytes, needBytes <= all * 0.9);
}

const WORDS: Readonly<Record<Exclude<Badge, 'too-large'>, string>> = {
  gpu: 'Runs fully on the GPU',
  'partly-gpu': 'Runs partly on the GPU',
  cpu: 'Runs on the CPU',
};

/** `couldFit`: there would be room if other programs ended. */
export function fitOf(badge: Badge, needBytes: number, haveBytes: number, couldFit = false): Fit {
  if (badge !== 'too-large') return { badge, needBytes, haveBytes, words: WORDS[badge] };
  const numbers = `needs ${inWords(needBytes)}, you have ${inWords(haveBytes)}`;
  const words = couldFit ? `Too large now (${numbers} free); end other programs` : `Too large (${numbers})`;
  return { badge, needBytes, haveBytes, words };
}
