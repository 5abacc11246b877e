/** Models may be split into several files; llama.cpp is given the first: model-00001-of-00003.gguf. */
import { readdirSync, type Stats, statSync } from 'node:fs';
import path from 'node:path';

const FIRST_PART = /-00001-of-(\d{5})\.gguf$/i;
/** llama.cpp counts them in 16 bits. */
const MAX_PARTS = 65_535;

/** All files of a model, the given one first. */
export function partsOf(file: string): string[] {
  const count = Number(FIRST_PART.exec(file)?.[1] ?? 1);
  if (count < 1 || count > MAX_PARTS) return [file];
  const numbers = Array.from({ length: count }, (_, index) => String(index + 1).padStart(5, '0'));
  return numbers.map((number) => file.replace(/-00001-of-(?=\d{5}\.gguf$)/i, `-${number}-of-`));
}

/** The size of all files of a model, in bytes; `null` if the first does not exist. */
export function sizeOfModel(file: string): number | null {
  const [first, ...others] = partsOf(file).map((part) => statOf(part)?.size ?? null);
  if (first == null) return null;
  return others.reduce<number>((sum, size) => sum + (size ?? 0), first);
}

/** When the last modified file of a model was modified, in Unix milliseconds; `null` if the first does not exist. */
export function modifiedMsOf(file: string): number | null {
  const [first, ...others] = partsOf(file).map((part) => statOf(part)?.mtimeMs ?? null);
  return first == null ? null : Math.max(first, ...others.map((ms) => ms ?? 0));
}

/** `._name.gguf` is where macOS keeps the attributes of `name.gguf` on other file systems. */
export function isGgufName(name: string): boolean {
  return /^(?!\._).*\.gguf$/is.test(name);
}

/**
 * Names of the GGUF files in a folder, without subfolders; `broken`: links that lead nowhere.
 * @throws The folder cannot be read.
 */
export function ggufFilesIn(folder: string): { files: string[]; broken: string[] } {
  const names = readdirSync(folder).filter(isGgufName).sort();
  const stats = new Map(names.map((name) => [name, statOf(path.join(folder, name))]));
  return {
    files: names.filter((name) => stats.get(name)?.isFile()),
    broken: names.filter((name) => stats.get(name) === null),
  };
}

/** `null`: no such file, or its path cannot be followed. */
function statOf(file: string): Stats | null {
  try {
    return statSync(file);
  } catch {
    return null;
  }
}

export interface FilesBeside {
  draft: string | undefined;
  /** Files that are loaded without progress, between the model and its draft model. */
  silent: readonly string[];
}

/**
 * Returns a function from the progress of the native load (0 to 1 for the model, 1 to 2 for the draft model) to the share of
 * all bytes that is loaded, 0 to 1.
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
