import { basename, dirname, join } from 'node:path';
import { ggufFilesIn } from './model-files.js';

/**
 * Returns the path of the vision projector in the folder of a model, or `null`. With `<model>` for the model's file name without
 * `.gguf`: `mmproj-<model>.gguf`, `<model>-mmproj.gguf` or `<model>.mmproj.gguf`, in any case of letters; else the only
 * file called `mmproj*.gguf` in a folder that holds no other model.
 */
export function findProjector(modelPath: string): string | null {
  const model = withoutGguf(basename(modelPath));
  const files = filesIn(dirname(modelPath));
  const ownNames = [`mmproj-${model}`, `${model}-mmproj`, `${model}.mmproj`];
  const projectors = files.filter(isProjector);
  const own = projectors.find((file) => ownNames.includes(withoutGguf(file)));
  const isAlone = files.every((file) => isProjector(file) || wholeName(withoutGguf(file)) === wholeName(model));
  const found = own ?? (isAlone && projectors.length === 1 ? projectors[0] : undefined);
  return found === undefined ? null : join(dirname(modelPath), found);
}

function filesIn(directory: string): string[] {
  try {
    return ggufFilesIn(directory).files;
  } catch {
    return []; // that the folder cannot be read is reported when the model is
  }
}

function isProjector(file: string): boolean {
  return /^mmproj|[.-]mmproj\.gguf$/i.test(file);
}

function withoutGguf(file: string): string {
  return file.replace(/\.gguf$/i, '').toLowerCase();
}

/** Strips the part number of a split model. */
function wholeName(model: string): string {
  return model.replace(/-\d{5}-of-\d{5}$/, '');
}
