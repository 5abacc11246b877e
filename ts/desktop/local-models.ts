/** Models on this computer, as the app knows them, and what a pool needs to load them. */
import { statSync } from 'node:fs';
import path from 'node:path';

export interface LocalModel {
  /** `user/repo:Q4_K_M`, or the file's name. */
  id: string;
  path: string;
  projector: string | null;
  sizeBytes: number;
  quantisation: string | null;
  architecture: string | null;
  parameters: number | null;
  contextLength: number | null;
  capabilities: readonly string[];
  source: 'hub' | 'lmstudio' | 'ollama' | 'folder' | 'builtin';
  canDelete: boolean;
  repo: string | null;
  commit: string | null;
}

/** A file that somebody named. */
export function localFile(file: string, source: LocalModel['source'] = 'folder'): LocalModel {
  return {
    id: path.basename(file).replace(/\.gguf$/i, ''),
    path: file,
    projector: null,
    sizeBytes: statSync(file, { throwIfNoEntry: false })?.size ?? 0,
    quantisation: null,
    architecture: null,
    parameters: null,
    contextLength: null,
    capabilities: [],
    source,
    canDelete: false,
    repo: null,
    commit: null,
  };
}
