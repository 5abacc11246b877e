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

/** How much of all that a model is loaded from is its own, by bytes: a part of 1, which beside others is smaller. */
export function shareOfModel(file: string, others: readonly string[]): number {
  const own = sizeOfModel(file) ?? 0;
  const all = others.reduce((sum, other) => sum + (sizeOfModel(other) ?? 0), own);
  return all === 0 ? 1 : own / all;
}
