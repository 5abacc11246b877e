/** A model that was found on this computer, before its file has been read. */
import fs from 'node:fs';
import path from 'node:path';

export type ModelSource = 'hub' | 'lmstudio' | 'ollama' | 'folder';

export interface FoundModel {
  id: string;
  /** All files of the model, the first to load first, the projector not among them. */
  files: string[];
  projector: string | null;
  quantisation: string | null;
  source: ModelSource;
  canDelete: boolean;
  repo: string | null;
  commit: string | null;
}

/** More files than anyone has, so that a wrong folder does not keep the list waiting for ever. */
const MAX_FILES = 20_000;

/** The GGUF files under a folder with their sizes, by their paths in it with slashes; none where it cannot be read. */
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
      } else if (/\.gguf$/i.test(entry.name)) {
        // A link that leads nowhere is no file.
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
