/** A model may lie in several files, of which llama.cpp is told the first: model-00001-of-00003.gguf. */
import { statSync } from 'node:fs';

const FIRST_PART = /-00001-of-(\d{5})\.gguf$/i;
/** llama.cpp counts them in 16 bits. */
const MAX_PARTS = 65_535;

/** All files of a model, its first or only one in front. */
export function partsOf(file: string): string[] {
  const count = Number(FIRST_PART.exec(file)?.[1] ?? 1);
  if (count < 1 || count > MAX_PARTS) return [file];
  const numbers = Array.from({ length: count }, (_, index) => String(index + 1).padStart(5, '0'));
  return numbers.map((number) => file.replace(/-00001-of-(?=\d{5}\.gguf$)/i, `-${number}-of-`));
}

/** Of all its files together, in bytes; `null` when the first is not there. */
export function sizeOfModel(file: string): number | null {
  const [first, ...others] = partsOf(file).map((part) => statSync(part, { throwIfNoEntry: false })?.size ?? null);
  if (first == null) return null;
  return others.reduce<number>((sum, size) => sum + (size ?? 0), first);
}

/** What is loaded for a model, beside its own file. */
export interface FilesBeside {
  draft: string | undefined;
  /** Those of which nothing is told while they are loaded, after the model and before its draft model. */
  silent: readonly string[];
}

/**
 * How much of all bytes is loaded, from 0 to 1. The function that is returned is given the engine's own progress: from 0
 * to 1 for the model, and on to 2 for the draft model.
 */
export function loadedShare(file: string, { draft, silent }: FilesBeside): (progress: number) => number {
  const own = sizeOfModel(file) ?? 0;
  const ofDraft = draft === undefined ? 0 : (sizeOfModel(draft) ?? 0);
  const between = silent.reduce((sum, other) => sum + (sizeOfModel(other) ?? 0), 0);
  const all = own + between + ofDraft;
  return (progress) => {
    if (all === 0) return Math.min(progress, 1);
    return (progress <= 1 ? own * progress : own + between + ofDraft * (progress - 1)) / all;
  };
}
