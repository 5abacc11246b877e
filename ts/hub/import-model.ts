/** Imports model files from anywhere on this computer. */
import fs from 'node:fs';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { findProjector } from '../engine/find-projector.js';
import { readGgufFile } from '../engine/gguf-header.js';
import { ChasquiError } from '../errors.js';
import { formatBytes } from './format-bytes.js';
import { freeDiskBytes } from './plan-download.js';

export const IMPORT_KINDS = ['copy', 'link', 'symlink'] as const;
/** `link` is a hard link. With `symlink` the original must stay in place. */
export type ImportKind = (typeof IMPORT_KINDS)[number];

const COPY_BYTES = 2 ** 20;
const PART = /^(.*)-(\d{5})-of-(\d{5})\.gguf$/i;

/**
 * Returns the path of the imported first file.
 * @param replaces whether to replace an imported model with the same file name
 * @param onProgress called during a copy that takes time, with the copied share of all files, from 0 to 1
 * @throws {ChasquiError} `model_file_missing`, `model_file_invalid`, `model_exists`, `no_space`, `download_failed`
 */
export async function importModel(
  file: string,
  how: ImportKind,
  folder: string,
  replaces = false,
  onProgress: (fraction: number) => void = () => {},
): Promise<string> {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  if (!stat?.isFile()) {
    const message = stat === undefined ? `File not found: ${file}.` : `Not a file: ${file}. Name a GGUF file.`;
    throw new ChasquiError('model_file_missing', message, 'path');
  }
  const parts = partsOf(file);
  await readGgufFile(parts[0] as string);
  const projector = findProjector(parts[0] as string);
  const name = path.basename(parts[0] as string).replace(/(-00001-of-\d{5})?\.gguf$/i, '');
  const target = path.join(folder, name);
  const files = [...parts, ...(projector === null ? [] : [projector])];
  if (!replaces) refuseExisting(files, target);
  if (how === 'copy') await checkSpace(files, target);
  fs.mkdirSync(target, { recursive: true });
  const totalBytes = sizeOf(files);
  let copiedBytes = 0;
  const onBytes = (bytes: number) => {
    copiedBytes += bytes;
    onProgress(copiedBytes / totalBytes);
  };
  for (const each of files) await put(each, path.join(target, path.basename(each)), how, onBytes);
  return path.join(target, path.basename(parts[0] as string));
}

/** Returns all parts of the model that the file belongs to. */
function partsOf(file: string): string[] {
  const [, prefix, , count] = PART.exec(file) ?? [];
  if (prefix === undefined) return [file];
  const numbers = Array.from({ length: Number(count) }, (_, index) => String(index + 1).padStart(5, '0'));
  const parts = numbers.map((number) => `${prefix}-${number}-of-${count}.gguf`);
  const missing = parts.find((part) => !fs.existsSync(part));
  if (missing === undefined) return parts;
  throw new ChasquiError('model_file_missing', `A part of the model is missing: ${missing}.`, 'path');
}

function refuseExisting(files: readonly string[], target: string): void {
  const names = files.map((file) => path.basename(file));
  const taken = names.find((name) => fs.lstatSync(path.join(target, name), { throwIfNoEntry: false }) !== undefined);
  if (taken === undefined) return;
  throw new ChasquiError(
    'model_exists',
    `${path.join(target, taken)} exists: delete that model, or rename the file.`,
    'path',
  );
}

async function checkSpace(files: readonly string[], target: string): Promise<void> {
  const needed = sizeOf(files);
  const free = await freeDiskBytes(target);
  if (needed <= free) return;
  throw new ChasquiError(
    'no_space',
    `Not enough space on the disk of ${target}: the copy needs ${formatBytes(needed)}, ${formatBytes(free)} are free. Link the file instead.`,
  );
}

function sizeOf(files: readonly string[]): number {
  return files.reduce((sum, file) => sum + fs.statSync(file).size, 0);
}

async function put(from: string, to: string, how: ImportKind, onBytes: (bytes: number) => void): Promise<void> {
  const unfinished = `${to}.${process.pid}.part`;
  const removeUnfinished = () => fs.rmSync(unfinished, { force: true });
  // A signal can end the process during the copy.
  process.once('exit', removeUnfinished);
  try {
    if (how === 'symlink') await fs.promises.symlink(from, unfinished);
    else if (how === 'link') await fs.promises.link(from, unfinished);
    else await copy(from, unfinished, onBytes);
    await fs.promises.rename(unfinished, to);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === 'EXDEV' ? 'the file is on another disk; copy it or use a symbolic link' : message;
    throw new ChasquiError('download_failed', `Could not import ${from}: ${why}.`, null, { cause: error });
  } finally {
    process.off('exit', removeUnfinished);
    removeUnfinished();
  }
}

/** Clones the file where the file system can; `copyFile` reports no progress. */
async function copy(from: string, to: string, onBytes: (bytes: number) => void): Promise<void> {
  const isCloned = await fs.promises.copyFile(from, to, fs.constants.COPYFILE_FICLONE_FORCE).then(
    () => true,
    () => false,
  );
  if (isCloned) return;
  const source = fs.createReadStream(from, { highWaterMark: COPY_BYTES });
  const count = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      yield chunk;
      onBytes(chunk.length);
    }
  };
  await pipeline(source, count, fs.createWriteStream(to));
}
