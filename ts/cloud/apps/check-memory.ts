/** Refuses an app whose runners could never load the files of its models, in the memory that its script gives them. */
import { sizeOfModel } from '../../engine/model-files.js';
import { invalid } from '../script/explain.js';
import { filesIn, type Manifest } from '../script/manifest.js';

const MIB = 2 ** 20;

/**
 * `fileBytes`: what its files have together, as far as that is known. Where the script asks for GPUs nothing is refused,
 * because the weights may go into memory of theirs. `name` is what messages call the app.
 * @throws {ChasquiError} `script_invalid`
 */
export function refuseTooLittleMemory(
  { memoryBytes, gpus }: Pick<Manifest, 'memoryBytes' | 'gpus'>,
  fileBytes: number,
  name: string,
): void {
  if (memoryBytes === null || (gpus ?? 0) > 0 || fileBytes <= memoryBytes) return;
  throw invalid(
    name,
    'machine.memory',
    `is ${Math.floor(memoryBytes / MIB)} MiB, but the files of its models have ${Math.ceil(fileBytes / MIB)} MiB: give it ` +
      'more than that, with room for their contexts, or leave it out to have it estimated; smaller quantisations need ' +
      'less, and GPUs (`machine.gpu`) have memory of their own',
  );
}

/** What the files together have that are given by their paths, each once. `sizeOf` gives 0 for what it does not know. */
export function givenFileBytes(manifest: Manifest, sizeOf: (path: string) => number): number {
  const paths = filesIn(manifest).flatMap((file) => (file.kind === 'file' ? [file.path] : []));
  return [...new Set(paths)].reduce((sum, path) => sum + sizeOf(path), 0);
}

/** The same for the files that lie on this machine, before any of them is read or sent. */
export function checkFilesHere(manifest: Manifest, name: string): void {
  const bytes = givenFileBytes(manifest, (path) => sizeOfModel(path) ?? 0);
  refuseTooLittleMemory(manifest, bytes, name);
}
