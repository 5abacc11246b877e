/** Groups the files of a repository into models: parts together, with their projector. */
import type { HubFile, Quantisation } from './hub-types.js';
import { descriptionOf, usualBits } from './quantisation-advice.js';

/** Recognises auxiliary files by name, as llama.cpp v0.5.0 does. */
const NO_MODEL = /mmproj|imatrix|mtp-|eagle3-|dflash-|dspark-/;
const PROJECTOR = /mmproj/;
const PART = /^(.*)-(\d{5})-of-(\d{5})\.gguf$/i;
/** The same pattern as the hub's pages; the last match in a name counts. */
const LABEL =
  /(UD-)?(IQ[1-4]_(?:XXS|XS|S|M|NL)|MXFP4(?:_MOE)?|NVFP4|TQ[12]_0|BF16|F16|F32|Q[1-8]_(?:K(?:_(?:XL|L|M|S|XS))?|[01](?:_\d_\d)?))(?![A-Z0-9])/g;

/** Returns the label in a file's path, such as `Q4_K_M`, or `null`. */
export function labelOf(path: string): string | null {
  return path.toUpperCase().match(LABEL)?.at(-1) ?? null;
}

export function isModelFile(path: string): boolean {
  return /\.gguf$/i.test(path) && !NO_MODEL.test(baseName(path));
}

/**
 * Returns the quantisations of a repository, smallest first. Duplicates of a label are named after their files.
 * `parameters` is the hub's count, for bits per weight.
 */
export function groupQuantisations(files: readonly HubFile[], parameters: number | null): Quantisation[] {
  const projectors = files.filter(({ path }) => /\.gguf$/i.test(path) && PROJECTOR.test(baseName(path)));
  const groups = [...groupParts(files.filter(({ path }) => isModelFile(path))).values()];
  const labels = groups.map((group) => labelOf(group.path) ?? withoutGguf(baseName(group.path)));
  const quantisations = groups.map((group, index) => {
    const label = labels[index] as string;
    const isOnly = labels.indexOf(label) === labels.lastIndexOf(label);
    return toQuantisation(isOnly ? label : withoutGguf(group.path), label, group.files, projectors, parameters);
  });
  return quantisations.sort((one, other) => one.sizeBytes - other.sizeBytes);
}

interface Group {
  /** The path without the part number. */
  path: string;
  files: HubFile[];
}

/** Groups parts by prefix and part count. Incomplete models are left out. */
function groupParts(files: readonly HubFile[]): Map<string, Group> {
  const groups = new Map<string, Group & { count: number }>();
  for (const file of files) {
    const [, prefix = withoutGguf(file.path), , count = '1'] = PART.exec(file.path) ?? [];
    const key = `${prefix}/${count}`;
    const group = groups.get(key) ?? { path: `${prefix}.gguf`, files: [], count: Number(count) };
    group.files.push(file);
    groups.set(key, group);
  }
  for (const [key, { files: parts, count }] of groups) {
    parts.sort((one, other) => (one.path < other.path ? -1 : 1));
    const isComplete = count === 1 || parts.every(({ path }, index) => Number(PART.exec(path)?.[2]) === index + 1);
    if (!isComplete || parts.length !== count) groups.delete(key);
  }
  return groups;
}

function toQuantisation(
  label: string,
  level: string,
  files: HubFile[],
  projectors: readonly HubFile[],
  parameters: number | null,
): Quantisation {
  const weightBytes = files.reduce((bytes, { sizeBytes }) => bytes + sizeBytes, 0);
  const projector = nearestProjector(files[0] as HubFile, projectors);
  const measured = parameters === null ? null : (weightBytes * 8) / parameters;
  // The hub counts the parameters of one file; a very different result means another model.
  const isPlausible = measured !== null && measured > 1 && measured < 40;
  return {
    label,
    bitsPerWeight: isPlausible ? Math.round(measured * 100) / 100 : usualBits(level),
    sizeBytes: weightBytes + (projector?.sizeBytes ?? 0),
    files,
    projector,
    words: descriptionOf(level),
  };
}

/** llama.cpp's choice: in the deepest common folder, the projector with the nearest bits. */
function nearestProjector(model: HubFile, projectors: readonly HubFile[]): HubFile | null {
  let best: { file: HubFile; depth: number; distance: number } | undefined;
  for (const file of projectors) {
    const folder = folderOf(file.path);
    if (folder !== '' && !model.path.startsWith(folder)) continue;
    const depth = folder.length;
    const distance = Math.abs(bitsOf(file.path) - bitsOf(model.path));
    const isBetter = !best || depth > best.depth || (depth === best.depth && distance < best.distance);
    if (isBetter) best = { file, depth, distance };
  }
  return best?.file ?? null;
}

function bitsOf(path: string): number {
  return Number(/\d+/.exec(labelOf(path) ?? '')?.[0] ?? 0);
}

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/') + 1);
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function withoutGguf(path: string): string {
  return path.replace(/\.gguf$/i, '');
}
