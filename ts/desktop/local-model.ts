/** A model on this computer. */
import path from 'node:path';
import { ChasquiError } from '../errors.js';
import { Library, type LocalModel as LibraryModel } from '../hub/library.js';

export interface LocalModel extends Omit<LibraryModel, 'source'> {
  /** `builtin`: part of chasqui. */
  source: LibraryModel['source'] | 'builtin';
}

/** Reads a model file given by path. Rejects with `model_file_missing` or `model_file_invalid`. */
export async function describeFile(file: string, source: LocalModel['source'] = 'folder'): Promise<LocalModel> {
  const folder = path.dirname(file);
  const places = { cacheFolder: folder, lmStudioFolders: [], ollamaFolders: [], folders: [], importFolder: folder };
  const model = await new Library(places).find(file);
  if (model === undefined) throw new ChasquiError('model_file_invalid', `${file} is not a GGUF model.`, 'model');
  return { ...model, id: path.basename(file).replace(/\.gguf$/i, ''), source, canDelete: false };
}

export function isEmbedder({ capabilities }: LocalModel): boolean {
  return capabilities.includes('embeddings') && !capabilities.includes('chat');
}

/** Names of embedding models, the smallest first. */
export function embeddersOf(models: readonly LocalModel[]): string[] {
  const embedders = models.filter(isEmbedder).sort((one, other) => one.sizeBytes - other.sizeBytes);
  return embedders.map(({ id }) => id);
}
