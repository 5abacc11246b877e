/** Finds models of LM Studio and Ollama, and in plain folders. */
import fs from 'node:fs';
import path from 'node:path';
import { findProjector } from '../engine/find-projector.js';
import { isGgufName } from '../engine/model-files.js';
import { isRepoName, modelNameOf } from './model-name.js';
import { groupQuantisations, labelOf } from './quantisations.js';
import { isSha256, toArray, toObject } from './read-hub-replies.js';

export type ModelSource = 'hub' | 'lmstudio' | 'ollama' | 'folder';

/** A model on this computer, before its file is read. */
export interface FoundModel {
  /** `user/repo:Q4_K_M`, or the file name. */
  id: string;
  /** All files except the projector, in load order. */
  files: string[];
  projector: string | null;
  quantisation: string | null;
  source: ModelSource;
  /** False for models of other programs. */
  canDelete: boolean;
  repo: string | null;
  commit: string | null;
}

const MAX_DEPTH = 6;
const MAX_MANIFEST_BYTES = 2 ** 20;
const MAX_LAYERS = 100;
/** Bounds the scan of a folder that was chosen by mistake. */
const MAX_FILES = 20_000;

export function findInFolder(folder: string, source: ModelSource = 'folder', canDelete = true): FoundModel[] {
  const files = ggufFilesUnder(folder, MAX_DEPTH).map((file) => ({ ...file, sha256: null }));
  return groupQuantisations(files, null).map((group) => {
    const parts = group.files.map((file) => path.join(folder, ...file.path.split('/')));
    const first = parts[0] as string;
    return {
      id: path.basename(first).replace(/(-\d{5}-of-\d{5})?\.gguf$/i, ''),
      files: parts,
      projector: findProjector(first),
      quantisation: labelOf(first),
      source,
      canDelete,
      repo: null,
      commit: null,
    };
  });
}

/** LM Studio's layout is `publisher/model/file.gguf`. */
export function findOfLmStudio(folder: string): FoundModel[] {
  return findInFolder(folder, 'lmstudio', false).map((model) => {
    const [publisher, name] = path.relative(folder, model.files[0] as string).split(path.sep);
    const repo = `${publisher}/${name}`;
    if (!isRepoName(repo)) return model;
    return { ...model, repo, id: modelNameOf(repo, { label: model.quantisation ?? model.id }) };
  });
}

/** Ollama's manifests, `host/namespace/model/tag`, map names to blob digests. */
export function findOfOllama(folder: string): FoundModel[] {
  const manifests = path.join(folder, 'manifests');
  return foldersIn(manifests).flatMap((host) =>
    foldersIn(path.join(manifests, host)).flatMap((space) =>
      foldersIn(path.join(manifests, host, space)).flatMap((model) =>
        entriesOf(path.join(manifests, host, space, model))
          .filter((entry) => entry.isFile())
          .map(({ name }) => readManifest(folder, [host, space, model, name]))
          .filter((found) => found !== null),
      ),
    ),
  );
}

function readManifest(
  folder: string,
  names: [host: string, space: string, model: string, tag: string],
): FoundModel | null {
  const [host, space, model, tag] = names;
  const layers = layersOf(path.join(folder, 'manifests', ...names));
  const blobOf = (kind: string) => {
    const layer = layers.find(({ mediaType }) => mediaType === `application/vnd.ollama.image.${kind}`);
    const digest = typeof layer?.digest === 'string' ? layer.digest.replace(/^sha256:/, '') : '';
    const file = path.join(folder, 'blobs', `sha256-${digest}`);
    return isSha256(digest) && sizeOf(file) !== null ? file : null;
  };
  const file = blobOf('model');
  if (file === null) return null;
  const prefix = host === 'registry.ollama.ai' ? (space === 'library' ? '' : `${space}/`) : `${host}/${space}/`;
  return {
    id: `${prefix}${model}:${tag}`,
    files: [file],
    projector: blobOf('projector'),
    quantisation: labelOf(tag),
    source: 'ollama',
    canDelete: false,
    repo: null,
    commit: null,
  };
}

function layersOf(file: string): Readonly<Record<string, unknown>>[] {
  try {
    if (fs.statSync(file).size > MAX_MANIFEST_BYTES) return [];
    return toArray(toObject(JSON.parse(fs.readFileSync(file, 'utf8'))).layers, MAX_LAYERS).map(toObject);
  } catch {
    return [];
  }
}

function foldersIn(folder: string): string[] {
  return entriesOf(folder)
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
}

/** Lists the GGUF files under a folder with their sizes, as slash-separated relative paths. Empty if unreadable. */
export function ggufFilesUnder(folder: string, maxDepth: number): { path: string; sizeBytes: number }[] {
  const found: { path: string; sizeBytes: number }[] = [];
  let seen = 0;
  const visit = (relative: string, depth: number) => {
    for (const entry of entriesOf(path.join(folder, relative))) {
      seen += 1;
      if (seen > MAX_FILES) return;
      const name = relative === '' ? entry.name : `${relative}/${entry.name}`;
      if (entry.isDirectory()) {
        if (depth < maxDepth && !entry.name.startsWith('.')) visit(name, depth + 1);
      } else if (isGgufName(entry.name)) {
        // Skip dangling links.
        const sizeBytes = sizeOf(path.join(folder, name));
        if (sizeBytes !== null) found.push({ path: name, sizeBytes });
      }
    }
  };
  visit('', 0);
  return found;
}

export function entriesOf(folder: string): fs.Dirent[] {
  try {
    return fs.readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

export function sizeOf(file: string): number | null {
  try {
    const stat = fs.statSync(file);
    return stat.isFile() ? stat.size : null;
  } catch {
    return null;
  }
}
