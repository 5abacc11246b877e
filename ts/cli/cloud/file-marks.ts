/** Sizes and digests of the local files in a script, which identify them in the cloud. */
import { statSync } from 'node:fs';
import { type FileMark, type FileMarks, markOf } from '../../cloud/apps/weights.js';
import type { Json } from '../../cloud/script/canonical-json.js';
import { readModelReference } from '../../cloud/script/field-values.js';
import { type FileField, fileFieldsOf, nameOfField } from '../../cloud/script/file-fields.js';
import { ChasquiError } from '../../errors.js';
import { showProgress } from '../output/progress.js';

type Options = { readonly [name: string]: Json };

/** Returns each field of checked options that names a local file, with its path. */
export function filesHere(options: Options): { at: FileField['at']; path: string }[] {
  return fileFieldsOf(options).flatMap(({ at, text }) => {
    const reference = readModelReference(text);
    return reference?.kind === 'file' ? [{ at, path: reference.path }] : [];
  });
}

/** Reads the whole file. @throws {ChasquiError} `script_invalid` with the field if the file does not exist */
export async function markFile(path: string, at: FileField['at']): Promise<FileMark> {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) {
    throw new ChasquiError('script_invalid', `\`${nameOfField(at)}\` is the file ${path}, which does not exist.`);
  }
  const progress = showProgress(process.stderr, 'Reading the model');
  try {
    return await markOf(path, progress.update);
  } finally {
    progress.clear();
  }
}

/** Maps paths to marks; reads each file once. */
export async function marksOf(options: Options): Promise<FileMarks> {
  const marks: Record<string, FileMark> = {};
  for (const { at, path } of filesHere(options)) marks[path] ??= await markFile(path, at);
  return marks;
}
