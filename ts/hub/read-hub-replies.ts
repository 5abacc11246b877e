/** Validates the hub's JSON: drops malformed fields, and bounds lists and texts. */
import type { Capability, Gating, HubFile, HubListedModel } from './hub-types.js';
import { isRepoName } from './model-name.js';
import { isModelFile, labelOf } from './quantisations.js';

const MAX_FILES = 10_000;
const MAX_TAGS = 500;
const MAX_PATH_LENGTH = 300;
const MAX_PATH_DEPTH = 10;
/** Upper bound on parameter counts, so that computed values remain finite. */
const MAX_PARAMETERS = 1e15;

export type Json = Readonly<Record<string, unknown>>;

export function toObject(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

export function toArray(value: unknown, max: number): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, max) : [];
}

/** Parses a list entry; `null` without a valid name. */
export function toListedModel(value: unknown): HubListedModel | null {
  const model = toObject(value);
  const repo = model.id ?? model.modelId;
  if (!isRepoName(repo)) return null;
  const gguf = toObject(model.gguf);
  const paths = toArray(model.siblings, MAX_FILES)
    .map((file) => toObject(file).rfilename)
    .filter(isSafePath);
  return {
    repo,
    downloads: toCount(model.downloads) ?? 0,
    likes: toCount(model.likes) ?? 0,
    modifiedAt: toTime(model.lastModified),
    gated: toGating(model.gated),
    parameters: toParameters(gguf.total),
    architecture: toText(gguf.architecture, 100),
    contextLength: toCount(gguf.context_length),
    capabilities: toCapabilities(model, paths),
    quantisations: labelsOf(paths),
  };
}

/** Parses the files of a tree or of `siblings`, without unsafe paths. */
export function toFiles(values: readonly unknown[]): HubFile[] {
  return values.flatMap((value) => {
    const { path, rfilename, size, lfs, type = 'file' } = toObject(value);
    const name = path ?? rfilename;
    const large = toObject(lfs);
    const sizeBytes = toCount(large.size) ?? toCount(size);
    const digest = large.oid ?? large.sha256;
    if (type !== 'file' || !isSafePath(name) || sizeBytes === null) return [];
    return [{ path: name, sizeBytes, sha256: isSha256(digest) ? digest : null }];
  });
}

/** Whether a path stays inside its folder on every system. */
export function isSafePath(value: unknown): value is string {
  if (typeof value !== 'string' || value.length === 0 || value.length > MAX_PATH_LENGTH) return false;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are rejected.
  if (/[\\:*?"<>|\x00-\x1f\x7f]/.test(value)) return false;
  const parts = value.split('/');
  return parts.length <= MAX_PATH_DEPTH && parts.every((part) => part !== '' && !/^\.{1,2}$|[. ]$/.test(part));
}

export function isSha256(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);
}

export function isCommit(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{40}$/.test(value);
}

export function toText(value: unknown, maxLength: number): string | null {
  return typeof value === 'string' && value.length > 0 ? value.slice(0, maxLength) : null;
}

/** A whole number from 0. */
export function toCount(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

export function toParameters(value: unknown): number | null {
  const count = toCount(value);
  return count !== null && count > 0 && count <= MAX_PARAMETERS ? count : null;
}

export function toTime(value: unknown): number | null {
  const time = typeof value === 'string' ? Date.parse(value.slice(0, 40)) : Number.NaN;
  return Number.isNaN(time) ? null : time;
}

export function toGating(value: unknown): Gating {
  return value === 'auto' || value === 'manual' ? value : value === true ? 'manual' : false;
}

/** Derives capabilities from the pipeline tag, the chat template and the files. */
export function toCapabilities(model: Json, paths: readonly string[]): Capability[] {
  const tags = toArray(model.tags, MAX_TAGS);
  const kinds = [model.pipeline_tag, ...tags];
  const template = toText(toObject(model.gguf).chat_template, 1_000_000);
  const capabilities: Capability[] = [];
  if (template !== null || kinds.includes('conversational')) capabilities.push('chat');
  // The hub's own rule for tool support.
  if (template?.includes('tools')) capabilities.push('tools');
  if (paths.some((path) => /\.gguf$/i.test(path) && /mmproj/.test(path))) capabilities.push('vision');
  const embeds = ['feature-extraction', 'sentence-similarity', 'sentence-transformers'];
  if (kinds.some((kind) => embeds.includes(kind as string))) capabilities.push('embeddings');
  return capabilities;
}

function labelsOf(paths: readonly string[]): string[] {
  const labels = paths.filter(isModelFile).map(labelOf);
  return [...new Set(labels.filter((label) => label !== null))].slice(0, 60).sort(byBits);
}

function byBits(one: string, other: string): number {
  const bits = (label: string) => Number(/\d+/.exec(label)?.[0] ?? 0);
  return bits(one) - bits(other) || (one < other ? -1 : 1);
}
